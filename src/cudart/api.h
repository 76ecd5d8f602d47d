// What every function of the API has in common: setting up at first use, errors that stay, and the
// last error of the thread.
#pragma once

#include <cuda_runtime_api.h>

#include <new>

#include "cudart/runtime.h"

namespace kernelsmith::cudart {

enum class Sees {
  kDevice,  // asks about the device only: works also after a fault
  kKnown,   // starts work: fails if the program has been told of a fault
  kFault,   // synchronises or manages: tells of a fault
};

// `call`: the function of the API, for reports.
inline cudaError_t SetLast(cudaError_t error, const char* call = __builtin_FUNCTION()) {
  if (error != cudaSuccess) {
    Runtime::Thread().last_error = error;
    Runtime::Get().NoteError(call, error);
  }
  return error;
}

// Runs the body of an API function: `body(runtime)` returns its cudaError_t.
template <typename Body>
cudaError_t Call(Sees sees, const Body& body, const char* call = __builtin_FUNCTION()) {
  Runtime& runtime = Runtime::Get();
  cudaError_t error = runtime.Initialise();
  if (error == cudaSuccess && sees == Sees::kKnown) error = runtime.known_fault();
  if (error == cudaSuccess && sees == Sees::kFault) error = runtime.RevealFault();
  if (error != cudaSuccess) return SetLast(error, call);
  try {
    return SetLast(body(runtime), call);
  } catch (const std::bad_alloc&) {
    return SetLast(cudaErrorMemoryAllocation, call);
  }
}

// The same for functions of a stream: `body(runtime, stream)`.
template <typename Body>
cudaError_t CallOnStream(Sees sees, cudaStream_t handle, const Body& body,
                         const char* call = __builtin_FUNCTION()) {
  const auto on_stream = [&](Runtime& runtime) {
    const std::shared_ptr<Stream> stream = runtime.FindStream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    return body(runtime, stream);
  };
  return Call(sees, on_stream, call);
}

// In the variants of the API for programs built with --default-stream per-thread, 0 means the
// thread's own stream.
inline cudaStream_t PerThread(cudaStream_t stream) {
  return stream == nullptr ? cudaStreamPerThread : stream;
}

}  // namespace kernelsmith::cudart
