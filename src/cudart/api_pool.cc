// Stream-ordered allocation and memory pools. There is one memory, so a pool is little more than a
// name: memory is taken from the device at once and given back in the order of the stream.
#include <cstring>
#include <map>
#include <memory>

#include "cudart/api.h"
#include "cudart/checking.h"
#include "cudart/graph.h"

using namespace kernelsmith::cudart;
using kernelsmith::vgpu::AllocationKind;

namespace {

struct Pool {
  uint64_t release_threshold = 0;
  int reuse_follow_event_dependencies = 1;
  int reuse_allow_opportunistic = 1;
  int reuse_allow_internal_dependencies = 1;
  bool is_default = false;
};

// Pools, the default one among them. Guarded by Runtime::mutex().
struct Pools {
  std::map<const void*, std::unique_ptr<Pool>> all;
  Pool* standard = nullptr;
  Pool* current = nullptr;

  static Pools& Get() {
    static Pools* const pools = [] {
      auto* made = new Pools;
      auto pool = std::make_unique<Pool>();
      pool->is_default = true;
      made->standard = made->current = pool.get();
      made->all.emplace(pool.get(), std::move(pool));
      return made;
    }();
    return *pools;
  }
  Pool* Find(cudaMemPool_t handle) {
    const auto found = all.find(handle);
    return found == all.end() ? nullptr : found->second.get();
  }
};

cudaMemPool_t HandleOf(Pool* pool) { return reinterpret_cast<cudaMemPool_t>(pool); }

// Runs `body(pools)` with the lock held.
template <typename Body>
cudaError_t CallWithPools(const Body& body) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    const std::lock_guard lock(runtime.mutex());
    return body(Pools::Get());
  });
}

cudaError_t AllocateAsync(void** pointer, size_t size, cudaStream_t handle) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    *pointer = nullptr;
    if (size == 0) return cudaSuccess;
    const bool captured = stream->capture != nullptr;
    const uint64_t address =
        captured ? runtime.AllocateGraphMemory(size)
                 : runtime.Allocate(size, AllocationKind::kDevice, "cudaMallocAsync");
    if (address == 0) return cudaErrorMemoryAllocation;
    *pointer = reinterpret_cast<void*>(address);
    if (!captured) return cudaSuccess;
    return runtime.Submit(stream, AllocateWork{.pointer = *pointer, .size = size},
                          Runtime::Completion::kEager);
  });
}

}  // namespace

extern "C" {

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
  return AllocateAsync(pointer, size, stream);
}
cudaError_t cudaMallocAsync_ptsz(void** pointer, size_t size, cudaStream_t stream) {
  return AllocateAsync(pointer, size, PerThread(stream));
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  const cudaError_t error = CallWithPools([&](Pools& pools) {
    return pools.Find(pool) == nullptr ? cudaErrorInvalidValue : cudaSuccess;
  });
  return error == cudaSuccess ? AllocateAsync(pointer, size, stream) : error;
}
cudaError_t cudaMallocFromPoolAsync_ptsz(void** pointer, size_t size, cudaMemPool_t pool,
                                         cudaStream_t stream) {
  return cudaMallocFromPoolAsync(pointer, size, pool, PerThread(stream));
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    if (pointer == nullptr) return cudaSuccess;
    if (!runtime.FlagsOf(reinterpret_cast<uint64_t>(pointer))) {
      if (Checking* checking = runtime.checking()) {
        checking->list().OnBadFree(reinterpret_cast<uint64_t>(pointer), checking->CallPlace());
      }
      return cudaErrorInvalidValue;
    }
    return runtime.Submit(stream, FreeWork{pointer}, Runtime::Completion::kEager);
  });
}
cudaError_t cudaFreeAsync_ptsz(void* pointer, cudaStream_t stream) {
  return cudaFreeAsync(pointer, PerThread(stream));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return CallWithPools([&](Pools& pools) {
    if (pool == nullptr) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    *pool = HandleOf(pools.standard);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return CallWithPools([&](Pools& pools) {
    if (pool == nullptr) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    *pool = HandleOf(pools.current);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  return CallWithPools([&](Pools& pools) {
    if (device != 0) return cudaErrorInvalidDevice;
    Pool* pool = pools.Find(handle);
    if (pool == nullptr) return cudaErrorInvalidValue;
    pools.current = pool;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                     cudaMemAllocationType) {
  if (location == nullptr || location->type != cudaMemLocationTypeDevice) {
    return SetLast(cudaErrorNotSupported);
  }
  return cudaDeviceGetDefaultMemPool(pool, location->id);
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                              cudaMemAllocationType) {
  if (location == nullptr || location->type != cudaMemLocationTypeDevice) {
    return SetLast(cudaErrorNotSupported);
  }
  return cudaDeviceGetMemPool(pool, location->id);
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType,
                              cudaMemPool_t pool) {
  if (location == nullptr || location->type != cudaMemLocationTypeDevice) {
    return SetLast(cudaErrorNotSupported);
  }
  return cudaDeviceSetMemPool(location->id, pool);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* handle, const cudaMemPoolProps* properties) {
  return CallWithPools([&](Pools& pools) {
    if (handle == nullptr || properties == nullptr) return cudaErrorInvalidValue;
    if (properties->location.type == cudaMemLocationTypeDevice && properties->location.id != 0) {
      return cudaErrorInvalidDevice;
    }
    auto pool = std::make_unique<Pool>();
    *handle = HandleOf(pool.get());
    pools.all.emplace(pool.get(), std::move(pool));
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return CallWithPools([&](Pools& pools) {
    Pool* pool = pools.Find(handle);
    if (pool == nullptr || pool->is_default) return cudaErrorInvalidValue;
    if (pools.current == pool) pools.current = pools.standard;
    pools.all.erase(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return CallWithPools([&](Pools& pools) {
    Pool* pool = pools.Find(handle);
    if (pool == nullptr || value == nullptr) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
        pool->reuse_follow_event_dependencies = *static_cast<int*>(value);
        return cudaSuccess;
      case cudaMemPoolReuseAllowOpportunistic:
        pool->reuse_allow_opportunistic = *static_cast<int*>(value);
        return cudaSuccess;
      case cudaMemPoolReuseAllowInternalDependencies:
        pool->reuse_allow_internal_dependencies = *static_cast<int*>(value);
        return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold:
        pool->release_threshold = *static_cast<uint64_t*>(value);
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:
        return *static_cast<uint64_t*>(value) == 0 ? cudaSuccess : cudaErrorInvalidValue;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return CallWithPools([&](Pools& pools) {
    const Pool* pool = pools.Find(handle);
    if (pool == nullptr || value == nullptr) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
        *static_cast<int*>(value) = pool->reuse_follow_event_dependencies;
        return cudaSuccess;
      case cudaMemPoolReuseAllowOpportunistic:
        *static_cast<int*>(value) = pool->reuse_allow_opportunistic;
        return cudaSuccess;
      case cudaMemPoolReuseAllowInternalDependencies:
        *static_cast<int*>(value) = pool->reuse_allow_internal_dependencies;
        return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold:
        *static_cast<uint64_t*>(value) = pool->release_threshold;
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemCurrent:
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemCurrent:
      case cudaMemPoolAttrUsedMemHigh:
        // Pools share the device's memory; what they use is not counted apart.
        *static_cast<uint64_t*>(value) = Runtime::Get().memory().used_bytes();
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return CallWithPools([&](Pools& pools) {
    return pools.Find(handle) == nullptr ? cudaErrorInvalidValue : cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* list,
                                 size_t count) {
  return CallWithPools([&](Pools& pools) {
    if (pools.Find(handle) == nullptr) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (list[i].location.type != cudaMemLocationTypeDevice || list[i].location.id != 0) {
        return cudaErrorInvalidDevice;
      }
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle,
                                 cudaMemLocation* location) {
  return CallWithPools([&](Pools& pools) {
    if (flags == nullptr || location == nullptr || pools.Find(handle) == nullptr) {
      return cudaErrorInvalidValue;
    }
    *flags = cudaMemAccessFlagsProtReadWrite;
    return cudaSuccess;
  });
}

}  // extern "C"
