// Allocating and freeing memory, and asking about it.
#include <algorithm>
#include <cstring>

#include "cudart/api.h"
#include "cudart/checking.h"
#include "cudart/graph.h"
#include "cudart/recorder.h"

using namespace kernelsmith::cudart;
using kernelsmith::vgpu::Allocation;
using kernelsmith::vgpu::AllocationKind;

namespace {

// cudaMallocPitch aligns rows to this many bytes on present GPUs.
constexpr size_t kPitchAlignment = 512;

cudaError_t AllocateInto(Runtime& runtime, void** pointer, size_t size, AllocationKind kind,
                         const char* call, unsigned int flags = 0) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (const cudaError_t error = CheckUnsafeCall(); error != cudaSuccess) return error;
  if (size == 0) return cudaSuccess;  // a null pointer, as CUDA does it
  const uint64_t address = runtime.Allocate(size, kind, call, flags);
  if (address == 0) return cudaErrorMemoryAllocation;
  *pointer = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

// Frees memory of one of two kinds once everything that may use it is done.
cudaError_t FreeOfKind(Runtime& runtime, void* pointer, AllocationKind kind,
                       AllocationKind other_kind) {
  if (pointer == nullptr) return cudaSuccess;
  if (const cudaError_t error = CheckUnsafeCall(); error != cudaSuccess) return error;
  if (const cudaError_t error = runtime.SynchroniseDevice(); error != cudaSuccess) return error;
  const std::optional<Allocation> found =
      runtime.memory().Find(reinterpret_cast<uint64_t>(pointer));
  if (!found && runtime.checking() != nullptr) {
    runtime.checking()->list().OnBadFree(reinterpret_cast<uint64_t>(pointer),
                                         runtime.checking()->CallPlace());
  }
  if (!found || (found->kind != kind && found->kind != other_kind)) return cudaErrorInvalidValue;
  return runtime.Free(pointer);
}

bool IsHostKind(AllocationKind kind) {
  return kind == AllocationKind::kPinned || kind == AllocationKind::kHostRegistered;
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t size) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    return AllocateInto(runtime, pointer, size, AllocationKind::kDevice, "cudaMalloc");
  });
}

cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned int flags) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) {
      return cudaErrorInvalidValue;
    }
    return AllocateInto(runtime, pointer, size, AllocationKind::kManaged, "cudaMallocManaged",
                        flags);
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
  return cudaHostAlloc(pointer, size, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int flags) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    constexpr unsigned int kKnown =
        cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if ((flags & ~kKnown) != 0) return cudaErrorInvalidValue;
    return AllocateInto(runtime, pointer, size, AllocationKind::kPinned, "cudaHostAlloc", flags);
  });
}

cudaError_t cudaFree(void* pointer) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    return FreeOfKind(runtime, pointer, AllocationKind::kDevice, AllocationKind::kManaged);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    return FreeOfKind(runtime, pointer, AllocationKind::kPinned, AllocationKind::kPinned);
  });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (pointer == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
    if (width > size_t{1} << 40 || height > size_t{1} << 40) return cudaErrorMemoryAllocation;
    *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    if (height != 0 && *pitch > (size_t{1} << 62) / height) return cudaErrorMemoryAllocation;
    return AllocateInto(runtime, pointer, *pitch * height, AllocationKind::kDevice,
                        "cudaMallocPitch");
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  if (pitched == nullptr) return SetLast(cudaErrorInvalidValue);
  void* pointer = nullptr;
  size_t pitch = 0;
  if (extent.depth != 0 && extent.height > (size_t{1} << 40) / extent.depth) {
    return SetLast(cudaErrorMemoryAllocation);
  }
  const cudaError_t error =
      cudaMallocPitch(&pointer, &pitch, extent.width, extent.height * extent.depth);
  if (error == cudaSuccess) *pitched = {pointer, pitch, extent.width, extent.height};
  return error;
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned int flags) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (pointer == nullptr || size == 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = CheckUnsafeCall(); error != cudaSuccess) return error;
    const auto address = reinterpret_cast<uint64_t>(pointer);
    const std::optional<Allocation> found = runtime.memory().Find(address);
    if (found && IsHostKind(found->kind)) return cudaErrorHostMemoryAlreadyRegistered;
    if (found || runtime.memory().InReservedRange(address)) return cudaErrorInvalidValue;
    if (!runtime.memory().RegisterHostRange(pointer, size, "cudaHostRegister").ok()) {
      return cudaErrorHostMemoryAlreadyRegistered;
    }
    runtime.NoteRegistered(address, flags);
    return cudaSuccess;
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = runtime.SynchroniseDevice(); error != cudaSuccess) return error;
    return runtime.memory().UnregisterHostRange(pointer).ok() ? cudaSuccess
                                                              : cudaErrorHostMemoryNotRegistered;
  });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (device == nullptr || flags != 0) return cudaErrorInvalidValue;
    *device = nullptr;
    const std::optional<Allocation> found = runtime.memory().Find(reinterpret_cast<uint64_t>(host));
    if (!found || !IsHostKind(found->kind)) return cudaErrorInvalidValue;
    *device = host;  // one address for both
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* host) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    const std::optional<Allocation> found = runtime.memory().Find(reinterpret_cast<uint64_t>(host));
    if (!found || !IsHostKind(found->kind)) return cudaErrorInvalidValue;
    // With unified addressing all pinned memory is mapped.
    *flags = runtime.FlagsOf(found->address).value_or(0) | cudaHostAllocMapped;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (free_bytes == nullptr || total_bytes == nullptr) return cudaErrorInvalidValue;
    *total_bytes = runtime.memory().capacity();
    uint64_t used = runtime.memory().used_bytes();
    if (runtime.recorder() != nullptr) used += runtime.recorder()->MemoryOfOthers();
    *free_bytes = *total_bytes - std::min(*total_bytes, used);
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    std::memset(attributes, 0, sizeof(*attributes));
    const std::optional<Allocation> found =
        runtime.memory().Find(reinterpret_cast<uint64_t>(pointer));
    void* const address = const_cast<void*>(pointer);
    if (!found) {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = cudaInvalidDeviceId;
      attributes->hostPointer = address;
      return cudaSuccess;
    }
    attributes->devicePointer = address;
    if (IsHostKind(found->kind)) {
      attributes->type = cudaMemoryTypeHost;
      attributes->hostPointer = address;
    } else if (found->kind == AllocationKind::kManaged) {
      attributes->type = cudaMemoryTypeManaged;
      attributes->hostPointer = address;
    } else {
      attributes->type = cudaMemoryTypeDevice;
    }
    return cudaSuccess;
  });
}

// -- hints: there is one memory, so there is nothing to move
// ---------------------------------------

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t count, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream) {
  return CallOnStream(Sees::kKnown, stream, [&](Runtime& runtime, const auto&) {
    if (flags != 0 || runtime.Access(pointer, count) == nullptr) return cudaErrorInvalidValue;
    const std::optional<Allocation> found =
        runtime.memory().Find(reinterpret_cast<uint64_t>(pointer));
    if (!found || found->kind != AllocationKind::kManaged) return cudaErrorInvalidValue;
    if (location.type == cudaMemLocationTypeDevice && location.id != 0) {
      return cudaErrorInvalidDevice;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemAdvise(const void* pointer, size_t count, cudaMemoryAdvise, cudaMemLocation) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    const std::optional<Allocation> found =
        runtime.memory().Find(reinterpret_cast<uint64_t>(pointer));
    if (!found || found->kind != AllocationKind::kManaged ||
        runtime.Access(pointer, count) == nullptr) {
      return cudaErrorInvalidValue;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemPrefetchBatchAsync(void**, size_t*, size_t, cudaMemLocation*, size_t*, size_t,
                                      unsigned long long, cudaStream_t stream) {
  return CallOnStream(Sees::kKnown, stream, [](Runtime&, const auto&) { return cudaSuccess; });
}

cudaError_t cudaMemDiscardBatchAsync(void**, size_t*, size_t, unsigned long long,
                                     cudaStream_t stream) {
  return CallOnStream(Sees::kKnown, stream, [](Runtime&, const auto&) { return cudaSuccess; });
}

cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void**, size_t*, size_t, cudaMemLocation*, size_t*,
                                                size_t, unsigned long long, cudaStream_t stream) {
  return CallOnStream(Sees::kKnown, stream, [](Runtime&, const auto&) { return cudaSuccess; });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t, unsigned int) {
  return CallOnStream(Sees::kKnown, stream, [&](Runtime& runtime, const auto&) {
    const std::optional<Allocation> found =
        runtime.memory().Find(reinterpret_cast<uint64_t>(pointer));
    return found && found->kind == AllocationKind::kManaged ? cudaSuccess : cudaErrorInvalidValue;
  });
}

// No advice is kept and nothing moves, so every attribute has the value of fresh memory.
cudaError_t cudaMemRangeGetAttribute(void* data, size_t size, cudaMemRangeAttribute attribute,
                                     const void* pointer, size_t count) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    const std::optional<Allocation> found =
        runtime.memory().Find(reinterpret_cast<uint64_t>(pointer));
    if (data == nullptr || size % sizeof(int) != 0 || size == 0 || !found ||
        found->kind != AllocationKind::kManaged || runtime.Access(pointer, count) == nullptr) {
      return cudaErrorInvalidValue;
    }
    const int value =
        attribute == cudaMemRangeAttributeReadMostly ? 0 : static_cast<int>(cudaInvalidDeviceId);
    for (size_t i = 0; i < size / sizeof(int); ++i) static_cast<int*>(data)[i] = value;
    return cudaSuccess;
  });
}

cudaError_t cudaMemRangeGetAttributes(void** data, size_t* sizes, cudaMemRangeAttribute* attributes,
                                      size_t attribute_count, const void* pointer, size_t count) {
  if (data == nullptr || sizes == nullptr || attributes == nullptr) {
    return SetLast(cudaErrorInvalidValue);
  }
  for (size_t i = 0; i < attribute_count; ++i) {
    const cudaError_t error =
        cudaMemRangeGetAttribute(data[i], sizes[i], attributes[i], pointer, count);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

extern "C" {

cudaError_t cudaMemPrefetchAsync_ptsz(const void* pointer, size_t count, cudaMemLocation location,
                                      unsigned int flags, cudaStream_t stream) {
  return cudaMemPrefetchAsync(pointer, count, location, flags, PerThread(stream));
}
cudaError_t cudaMemPrefetchBatchAsync_ptsz(void** pointers, size_t* sizes, size_t count,
                                           cudaMemLocation* locations, size_t* indices,
                                           size_t location_count, unsigned long long flags,
                                           cudaStream_t stream) {
  return cudaMemPrefetchBatchAsync(pointers, sizes, count, locations, indices, location_count,
                                   flags, PerThread(stream));
}
cudaError_t cudaMemDiscardBatchAsync_ptsz(void** pointers, size_t* sizes, size_t count,
                                          unsigned long long flags, cudaStream_t stream) {
  return cudaMemDiscardBatchAsync(pointers, sizes, count, flags, PerThread(stream));
}
cudaError_t cudaMemDiscardAndPrefetchBatchAsync_ptsz(void** pointers, size_t* sizes, size_t count,
                                                     cudaMemLocation* locations, size_t* indices,
                                                     size_t location_count,
                                                     unsigned long long flags,
                                                     cudaStream_t stream) {
  return cudaMemDiscardAndPrefetchBatchAsync(pointers, sizes, count, locations, indices,
                                             location_count, flags, PerThread(stream));
}
cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void* pointer, size_t length,
                                          unsigned int flags) {
  return cudaStreamAttachMemAsync(PerThread(stream), pointer, length, flags);
}

}  // extern "C"
