// Launching kernels and host functions.
#include "cudart/api.h"
#include "cudart/launch.h"

using namespace kernelsmith::cudart;
using Completion = Runtime::Completion;

namespace {

cudaError_t Launch(const void* function, const LaunchShape& shape, void** arguments,
                   cudaStream_t handle) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    KernelWork work;
    const cudaError_t error = MakeKernelWork(runtime, function, shape, arguments, &work);
    return error == cudaSuccess ? runtime.Submit(stream, std::move(work), Completion::kEager)
                                : error;
  });
}

LaunchShape ShapeOf(const cudaLaunchConfig_t& config) {
  LaunchShape shape{
      .grid = config.gridDim, .block = config.blockDim, .dynamic_shared = config.dynamicSmemBytes};
  for (unsigned int i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    switch (attribute.id) {
      case cudaLaunchAttributeCooperative:
        shape.cooperative = attribute.val.cooperative != 0;
        break;
      case cudaLaunchAttributeClusterDimension:
        shape.cluster = {attribute.val.clusterDim.x, attribute.val.clusterDim.y,
                         attribute.val.clusterDim.z};
        break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        shape.programmatic = attribute.val.programmaticStreamSerializationAllowed != 0;
        break;
      default:
        // Priorities, access policies and the like change when things run, and here they run in
        // order anyway.
        break;
    }
  }
  return shape;
}

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t stream) {
  return Launch(function, {.grid = grid, .block = block, .dynamic_shared = shared}, arguments,
                stream);
}
cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                  size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(function, grid, block, arguments, shared, PerThread(stream));
}

// What <<<>>> of nvcc 12.8 and later calls.
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, PerThread(stream));
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** arguments, size_t shared, cudaStream_t stream) {
  return Launch(function,
                {.grid = grid, .block = block, .dynamic_shared = shared, .cooperative = true},
                arguments, stream);
}
cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* function, dim3 grid, dim3 block,
                                             void** arguments, size_t shared, cudaStream_t stream) {
  return cudaLaunchCooperativeKernel(function, grid, block, arguments, shared, PerThread(stream));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) {
    return SetLast(cudaErrorInvalidValue);
  }
  return Launch(function, ShapeOf(*config), arguments, config->stream);
}
cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function,
                                     void** arguments) {
  if (config == nullptr) return SetLast(cudaErrorInvalidValue);
  cudaLaunchConfig_t own = *config;
  own.stream = PerThread(config->stream);
  return cudaLaunchKernelExC(&own, function, arguments);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* user_data) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    if (function == nullptr) return cudaErrorInvalidValue;
    return runtime.Submit(stream, HostWork{.function = function, .user_data = user_data},
                          Completion::kEager);
  });
}
cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
  return cudaLaunchHostFunc(PerThread(stream), function, user_data);
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback,
                                  void* user_data, unsigned int flags) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
    if (stream->capture != nullptr) return cudaErrorStreamCaptureUnsupported;
    return runtime.Submit(stream,
                          HostWork{.user_data = user_data, .callback = callback, .stream = handle},
                          Completion::kEager);
  });
}
cudaError_t cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t callback,
                                       void* user_data, unsigned int flags) {
  return cudaStreamAddCallback(PerThread(stream), callback, user_data, flags);
}

}  // extern "C"
