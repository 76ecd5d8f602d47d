// Error names, last errors, versions, profiler.
#include <cuda_profiler_api.h>

#include "cudart/api.h"
#include "cudart/checking.h"
#include "cudart/recorder.h"
#include "cudart/unsupported.h"

using namespace kernelsmith::cudart;

namespace {

struct ErrorText {
  int value;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
#define KS_CUDA_ERROR(name, value, text) {value, #name, text},
#include "cudart/errors.def"
#undef KS_CUDA_ERROR
};

#define KS_CUDA_ERROR(name, value, text) static_assert(name == value);
#include "cudart/errors.def"
#undef KS_CUDA_ERROR

const ErrorText& Lookup(cudaError_t error) {
  static constexpr ErrorText kUnknown{-1, "unrecognized error code", "unrecognized error code"};
  for (const ErrorText& entry : kErrors) {
    if (entry.value == static_cast<int>(error)) return entry;
  }
  return kUnknown;
}

}  // namespace

namespace kernelsmith::cudart {

int SetNotSupported(const char* function, int error) {
  if (Recorder* recorder = Runtime::Get().recorder()) recorder->OnUnsupported(function);
  return SetLast(static_cast<cudaError_t>(error));
}

}  // namespace kernelsmith::cudart

const char* cudaGetErrorName(cudaError_t error) { return Lookup(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return Lookup(error).text; }

cudaError_t cudaGetLastError() {
  if (Checking* checking = Runtime::Get().checking()) checking->OnErrorSeen();
  const cudaError_t fault = Runtime::Get().known_fault();
  const cudaError_t error = fault != cudaSuccess ? fault : Runtime::Thread().last_error;
  Runtime::Thread().last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  if (Checking* checking = Runtime::Get().checking()) checking->OnErrorSeen();
  const cudaError_t fault = Runtime::Get().known_fault();
  return fault != cudaSuccess ? fault : Runtime::Thread().last_error;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return SetLast(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return SetLast(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaProfilerStart() {
  return Call(Sees::kFault, [](Runtime&) { return cudaSuccess; });
}
cudaError_t cudaProfilerStop() {
  return Call(Sees::kFault, [](Runtime&) { return cudaSuccess; });
}
