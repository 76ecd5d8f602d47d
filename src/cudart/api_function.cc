// Attributes of kernels, occupancy, and handles of kernels.
#include <algorithm>
#include <cstring>

#include "cudart/api.h"
#include "cudart/launch.h"
#include "cudart/recorder.h"

using namespace kernelsmith::cudart;
using kernelsmith::GpuModel;
namespace vgpu = kernelsmith::vgpu;

namespace {

// Runs `body(runtime, kernel, info)` for a kernel that the program names.
template <typename Body>
cudaError_t CallOnKernel(const void* function, const Body& body) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    Kernel* kernel = nullptr;
    const vgpu::EntryInfo* info = nullptr;
    const cudaError_t error = FindLoadedKernel(runtime, function, &kernel, &info);
    return error == cudaSuccess ? body(runtime, *kernel, *info) : error;
  });
}

cudaError_t TrySetAttribute(Runtime& runtime, Kernel& kernel, const vgpu::EntryInfo& info,
                            cudaFuncAttribute attribute, int value) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || int64_t{value} + info.static_shared_bytes >
                           int64_t{runtime.model().shared_per_block_optin}) {
        return cudaErrorInvalidValue;
      }
      kernel.max_dynamic_shared = value;
      return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return cudaErrorInvalidValue;
      kernel.shared_carveout = value;
      return cudaSuccess;
    case cudaFuncAttributeRequiredClusterWidth:
      kernel.cluster_x = value;
      return value < 0 ? cudaErrorInvalidValue : cudaSuccess;
    case cudaFuncAttributeRequiredClusterHeight:
      kernel.cluster_y = value;
      return value < 0 ? cudaErrorInvalidValue : cudaSuccess;
    case cudaFuncAttributeRequiredClusterDepth:
      kernel.cluster_z = value;
      return value < 0 ? cudaErrorInvalidValue : cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      kernel.non_portable_cluster = value != 0;
      return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      kernel.cluster_policy = value;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t SetAttribute(Runtime& runtime, Kernel& kernel, const vgpu::EntryInfo& info,
                         cudaFuncAttribute attribute, int value) {
  const cudaError_t error = TrySetAttribute(runtime, kernel, info, attribute, value);
  if (error == cudaSuccess && runtime.recorder() != nullptr) {
    runtime.recorder()->OnAttribute(kernel);
  }
  return error;
}

}  // namespace

namespace kernelsmith::cudart {

cudaFuncAttributes AttributesOf(Runtime& runtime, Kernel& kernel, const vgpu::EntryInfo& info) {
  cudaFuncAttributes attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.sharedSizeBytes = info.static_shared_bytes;
  size_t constants = 0;
  for (const vgpu::VariableInfo* variable : kernel.module->loaded()->Variables()) {
    if (variable->constant) constants += variable->size;
  }
  attributes.constSizeBytes = constants;
  attributes.localSizeBytes = info.local_bytes;
  attributes.maxThreadsPerBlock = GpuModel::kMaxThreadsPerBlock;
  if (info.max_threads) {
    attributes.maxThreadsPerBlock = static_cast<int>(
        std::min<uint64_t>(info.max_threads->Count(), GpuModel::kMaxThreadsPerBlock));
  }
  attributes.numRegs = EstimatedRegisters(info);
  attributes.ptxVersion = runtime.model().compute_capability();
  attributes.binaryVersion = runtime.model().compute_capability();
  attributes.maxDynamicSharedSizeBytes = static_cast<int>(DynamicSharedLimit(kernel, info));
  attributes.preferredShmemCarveout = kernel.shared_carveout;
  attributes.requiredClusterWidth = kernel.cluster_x;
  attributes.requiredClusterHeight = kernel.cluster_y;
  attributes.requiredClusterDepth = kernel.cluster_z;
  if (info.required_cluster) {
    attributes.clusterDimMustBeSet = 1;
    attributes.requiredClusterWidth = static_cast<int>(info.required_cluster->x);
    attributes.requiredClusterHeight = static_cast<int>(info.required_cluster->y);
    attributes.requiredClusterDepth = static_cast<int>(info.required_cluster->z);
  }
  attributes.clusterSchedulingPolicyPreference = kernel.cluster_policy;
  attributes.nonPortableClusterSizeAllowed = kernel.non_portable_cluster ? 1 : 0;
  return attributes;
}

}  // namespace kernelsmith::cudart

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return CallOnKernel(function, [&](Runtime& runtime, Kernel& kernel, const auto& info) {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    *attributes = AttributesOf(runtime, kernel, info);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return CallOnKernel(function, [&](Runtime& runtime, Kernel& kernel, const auto& info) {
    return SetAttribute(runtime, kernel, info, attribute, value);
  });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute,
                                            int value, int device) {
  if (device != 0) return SetLast(cudaErrorInvalidDevice);
  return cudaFuncSetAttribute(kernel, attribute, value);
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return CallOnKernel(function, [](Runtime&, Kernel&, const auto&) { return cudaSuccess; });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig) {
  return CallOnKernel(function, [](Runtime&, Kernel&, const auto&) { return cudaSuccess; });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return CallOnKernel(function, [&](Runtime&, Kernel& kernel, const auto&) {
    if (name == nullptr) return cudaErrorInvalidValue;
    *name = kernel.name.c_str();
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  return CallOnKernel(function, [&](Runtime&, Kernel&, const auto& info) {
    if (offset == nullptr || index >= info.parameters.size()) return cudaErrorInvalidValue;
    *offset = info.parameters[index].offset;
    if (size != nullptr) *size = info.parameters[index].size;
    return cudaSuccess;
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  return CallOnKernel(symbol, [&](Runtime&, Kernel& kernel, const auto&) {
    if (function == nullptr) return cudaErrorInvalidValue;
    *function = reinterpret_cast<cudaFunction_t>(&kernel);
    return cudaSuccess;
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* handle, const void* function) {
  return CallOnKernel(function, [&](Runtime&, Kernel& kernel, const auto&) {
    if (handle == nullptr) return cudaErrorInvalidValue;
    *handle = reinterpret_cast<cudaKernel_t>(&kernel);
    return cudaSuccess;
  });
}

// -- occupancy ------------------------------------------------------------------------------------

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* function,
                                                                   int threads, size_t shared,
                                                                   unsigned int) {
  return CallOnKernel(function, [&](Runtime& runtime, Kernel&, const auto& info) {
    if (blocks == nullptr || threads <= 0) return cudaErrorInvalidValue;
    *blocks = ActiveBlocks(runtime.model(), info, threads, shared);
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared,
                                                                cudaOccupancyDefault);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared, const void* function,
                                                      int blocks, int threads) {
  return CallOnKernel(function, [&](Runtime& runtime, Kernel&, const auto& info) {
    if (shared == nullptr || blocks <= 0 || threads <= 0) return cudaErrorInvalidValue;
    const GpuModel& model = runtime.model();
    const int64_t per_block =
        model.shared_per_sm / blocks / model.shared_unit() * model.shared_unit() -
        model.reserved_shared_per_block;
    const int64_t rest = std::min<int64_t>(per_block, model.shared_per_block_optin) -
                         int64_t{info.static_shared_bytes};
    if (rest < 0 || ActiveBlocks(model, info, threads, static_cast<size_t>(rest)) < blocks) {
      return cudaErrorInvalidValue;
    }
    *shared = static_cast<size_t>(rest);
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t*) {
  return CallOnKernel(function, [&](Runtime& runtime, Kernel& kernel, const auto&) {
    if (size == nullptr) return cudaErrorInvalidValue;
    if (runtime.model().max_cluster_blocks == 0) return cudaErrorNotSupported;
    *size = kernel.non_portable_cluster ? 16 : runtime.model().max_cluster_blocks;
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return CallOnKernel(function, [&](Runtime& runtime, Kernel&, const auto& info) {
    if (clusters == nullptr || config == nullptr) return cudaErrorInvalidValue;
    unsigned int blocks = 1;
    for (unsigned int i = 0; i < config->numAttrs; ++i) {
      if (config->attrs[i].id != cudaLaunchAttributeClusterDimension) continue;
      const auto& cluster = config->attrs[i].val.clusterDim;
      blocks = std::max(1U, cluster.x * cluster.y * cluster.z);
    }
    const dim3 block = config->blockDim;
    const int resident =
        ActiveBlocks(runtime.model(), info, static_cast<int>(block.x * block.y * block.z),
                     config->dynamicSmemBytes);
    *clusters = resident * runtime.model().sm_count / static_cast<int>(blocks);
    return cudaSuccess;
  });
}
