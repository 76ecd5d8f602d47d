// Arrays, texture objects and surface objects. An array is ordinary device memory, row after row;
// its handle is known here only. An object is a vgpu::Texture in device memory, and its handle the
// address of that.
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "cudart/api.h"
#include "cudart/array.h"
#include "cudart/copy.h"
#include "vgpu/texture.h"

using namespace kernelsmith::cudart;
using kernelsmith::vgpu::AllocationKind;
using kernelsmith::vgpu::Texture;
using Completion = Runtime::Completion;

namespace {

struct Objects {
  std::mutex mutex;
  std::map<cudaArray_const_t, std::unique_ptr<Array>> arrays;
  struct Description {
    cudaResourceDesc resource{};
    cudaTextureDesc texture{};
  };
  std::map<uint64_t, Description> textures;
  std::map<uint64_t, Description> surfaces;
};
Objects& All() {
  static Objects* objects = new Objects;  // lives as long as atexit handlers of programs
  return *objects;
}

// The channels of a format, 0 if there is no such format: 1, 2 or 4 of equal width.
bool ReadFormat(const cudaChannelFormatDesc& format, Texture* texture) {
  const int bits[4] = {format.x, format.y, format.z, format.w};
  int channels = 0;
  while (channels < 4 && bits[channels] != 0) ++channels;
  for (int i = 0; i < 4; ++i) {
    if (i < channels ? bits[i] != bits[0] : bits[i] != 0) return false;
  }
  if (channels == 0 || channels == 3 || (bits[0] != 8 && bits[0] != 16 && bits[0] != 32)) {
    return false;
  }
  switch (format.f) {
    case cudaChannelFormatKindSigned:
      texture->kind = Texture::Kind::kSigned;
      break;
    case cudaChannelFormatKindUnsigned:
      texture->kind = Texture::Kind::kUnsigned;
      break;
    case cudaChannelFormatKindFloat:
      if (bits[0] == 8) return false;
      texture->kind = Texture::Kind::kFloat;
      break;
    default:
      return false;
  }
  texture->channels = static_cast<uint8_t>(channels);
  texture->bits = static_cast<uint8_t>(bits[0]);
  return true;
}

cudaError_t MakeArray(Runtime& runtime, cudaArray_t* handle, const cudaChannelFormatDesc* format,
                      const cudaExtent& extent, unsigned int flags) {
  if (handle == nullptr || format == nullptr || extent.width == 0) return cudaErrorInvalidValue;
  Texture texture;
  if (!ReadFormat(*format, &texture)) return cudaErrorInvalidChannelDescriptor;
  constexpr unsigned int kKnown =
      cudaArrayLayered | cudaArrayCubemap | cudaArraySurfaceLoadStore | cudaArrayTextureGather;
  if ((flags & ~kKnown) != 0) return cudaErrorNotSupported;
  if ((flags & cudaArrayCubemap) != 0 && (extent.width != extent.height || extent.depth != 6)) {
    return cudaErrorInvalidValue;
  }
  auto array = std::make_unique<Array>();
  array->format = *format;
  array->extent = extent;
  array->flags = flags;
  array->texel_bytes = texture.TexelBytes();
  constexpr size_t kLargest = size_t{1} << 20;
  if (extent.width > kLargest * 1024 || extent.height > kLargest || extent.depth > kLargest) {
    return cudaErrorInvalidValue;
  }
  array->address =
      runtime.Allocate(array->slice() * array->depth(), AllocationKind::kDevice, "cudaMallocArray");
  if (array->address == 0) return cudaErrorMemoryAllocation;
  *handle = reinterpret_cast<cudaArray_t>(array.get());
  const std::lock_guard lock(All().mutex);
  All().arrays[*handle] = std::move(array);
  return cudaSuccess;
}

cudaError_t FillResource(const cudaResourceDesc& resource, Texture* texture) {
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const Array* array = FindArray(resource.res.array.array);
      if (array == nullptr) return cudaErrorInvalidResourceHandle;
      if (!ReadFormat(array->format, texture)) return cudaErrorInvalidChannelDescriptor;
      texture->address = array->address;
      texture->width = array->extent.width;
      texture->height = array->height();
      texture->depth = array->depth();
      texture->pitch = array->pitch();
      texture->slice = array->slice();
      return cudaSuccess;
    }
    case cudaResourceTypeLinear: {
      const auto& linear = resource.res.linear;
      if (linear.devPtr == nullptr) return cudaErrorInvalidValue;
      if (!ReadFormat(linear.desc, texture)) return cudaErrorInvalidChannelDescriptor;
      texture->linear_memory = true;
      texture->address = reinterpret_cast<uint64_t>(linear.devPtr);
      texture->width = linear.sizeInBytes / texture->TexelBytes();
      return cudaSuccess;
    }
    case cudaResourceTypePitch2D: {
      const auto& rows = resource.res.pitch2D;
      if (rows.devPtr == nullptr) return cudaErrorInvalidValue;
      if (!ReadFormat(rows.desc, texture)) return cudaErrorInvalidChannelDescriptor;
      texture->address = reinterpret_cast<uint64_t>(rows.devPtr);
      texture->width = rows.width;
      texture->height = rows.height;
      texture->pitch = rows.pitchInBytes;
      return cudaSuccess;
    }
    default:
      return cudaErrorNotSupported;  // mipmaps
  }
}

// Puts the object into device memory.
cudaError_t Publish(Runtime& runtime, const Texture& texture, const char* call,
                    unsigned long long* handle) {
  const uint64_t address = runtime.Allocate(sizeof texture, AllocationKind::kDevice, call);
  if (address == 0) return cudaErrorMemoryAllocation;
  *handle = address;
  if (runtime.recorder() == nullptr) {
    std::memcpy(runtime.memory().HostAlias(address, sizeof texture), &texture, sizeof texture);
    return cudaSuccess;
  }
  const CopyWork work{.dst = reinterpret_cast<void*>(address),
                      .src = &texture,
                      .width = sizeof texture,
                      .kind = cudaMemcpyHostToDevice};
  return SubmitCopy(runtime, nullptr, work, Completion::kComplete);
}

template <typename Map>
cudaError_t Destroy(Runtime& runtime, Map& objects, unsigned long long handle) {
  if (handle == 0) return cudaSuccess;
  {
    const std::lock_guard lock(All().mutex);
    if (objects.erase(handle) == 0) return cudaErrorInvalidResourceHandle;
  }
  if (const cudaError_t error = runtime.SynchroniseDevice(); error != cudaSuccess) return error;
  return runtime.Free(reinterpret_cast<void*>(handle));
}

// Rows between an array and memory; offsets and widths in bytes.
cudaError_t CopyRows(bool to_array, cudaArray_const_t handle, size_t x, size_t y, void* memory,
                     size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                     cudaStream_t stream, Completion completion) {
  return Call(completion == Completion::kComplete ? Sees::kFault : Sees::kKnown,
              [&](Runtime& runtime) {
                const Array* array = FindArray(handle);
                if (array == nullptr) return cudaErrorInvalidResourceHandle;
                if (x > array->pitch() || width > array->pitch() - x || y > array->height() ||
                    height > array->height() - y) {
                  return cudaErrorInvalidValue;
                }
                void* place = reinterpret_cast<void*>(array->address + y * array->pitch() + x);
                CopyWork work{.dst = to_array ? place : memory,
                              .src = to_array ? memory : place,
                              .width = width,
                              .height = height,
                              .dst_pitch = to_array ? array->pitch() : pitch,
                              .src_pitch = to_array ? pitch : array->pitch(),
                              .kind = kind};
                return SubmitCopy(runtime, stream, work, completion);
              });
}

}  // namespace

namespace kernelsmith::cudart {

const Array* FindArray(cudaArray_const_t handle) {
  const std::lock_guard lock(All().mutex);
  const auto found = All().arrays.find(handle);
  return found == All().arrays.end() ? nullptr : found->second.get();
}

}  // namespace kernelsmith::cudart

extern "C" {

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                            size_t height, unsigned int flags) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    return MakeArray(runtime, array, format, {width, height, 0}, flags);
  });
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format,
                              cudaExtent extent, unsigned int flags) {
  return Call(Sees::kFault,
              [&](Runtime& runtime) { return MakeArray(runtime, array, format, extent, flags); });
}

cudaError_t cudaFreeArray(cudaArray_t handle) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (handle == nullptr) return cudaSuccess;
    if (const cudaError_t error = runtime.SynchroniseDevice(); error != cudaSuccess) return error;
    std::unique_ptr<Array> array;
    {
      const std::lock_guard lock(All().mutex);
      const auto found = All().arrays.find(handle);
      if (found == All().arrays.end()) return cudaErrorContextIsDestroyed;
      array = std::move(found->second);
      All().arrays.erase(found);
    }
    return runtime.Free(reinterpret_cast<void*>(array->address));
  });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned int* flags,
                             cudaArray_t handle) {
  return Call(Sees::kDevice, [&](Runtime&) {
    const Array* array = FindArray(handle);
    if (array == nullptr) return cudaErrorInvalidResourceHandle;
    if (format != nullptr) *format = array->format;
    if (extent != nullptr) *extent = array->extent;
    if (flags != nullptr) *flags = array->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t handle) {
  return Call(Sees::kDevice, [&](Runtime&) {
    const Array* array = FindArray(handle);
    if (array == nullptr || format == nullptr) return cudaErrorInvalidValue;
    *format = array->format;
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t array, size_t x, size_t y, const void* from,
                                size_t pitch, size_t width, size_t height, cudaMemcpyKind kind) {
  return CopyRows(true, array, x, y, const_cast<void*>(from), pitch, width, height, kind, nullptr,
                  Completion::kComplete);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t array, size_t x, size_t y, const void* from,
                                     size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  return CopyRows(true, array, x, y, const_cast<void*>(from), pitch, width, height, kind, stream,
                  Completion::kEager);
}

cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t array, size_t x,
                                  size_t y, size_t width, size_t height, cudaMemcpyKind kind) {
  return CopyRows(false, array, x, y, to, pitch, width, height, kind, nullptr,
                  Completion::kComplete);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t array, size_t x,
                                       size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return CopyRows(false, array, x, y, to, pitch, width, height, kind, stream, Completion::kEager);
}

// Deprecated: `count` bytes from (x, y) on, over the ends of rows.
cudaError_t cudaMemcpyToArray(cudaArray_t handle, size_t x, size_t y, const void* from,
                              size_t count, cudaMemcpyKind kind) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    const Array* array = FindArray(handle);
    if (array == nullptr) return cudaErrorInvalidResourceHandle;
    const size_t start = y * array->pitch() + x;
    if (start > array->slice() || count > array->slice() - start) return cudaErrorInvalidValue;
    return SubmitCopy(
        runtime, nullptr,
        LinearCopy(reinterpret_cast<void*>(array->address + start), from, count, kind),
        Completion::kComplete);
  });
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* handle, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description,
                                    const cudaResourceViewDesc* view) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (handle == nullptr || resource == nullptr || description == nullptr) {
      return cudaErrorInvalidValue;
    }
    if (view != nullptr) return cudaErrorNotSupported;
    Texture texture;
    if (const cudaError_t error = FillResource(*resource, &texture); error != cudaSuccess) {
      return error;
    }
    for (int d = 0; d < 3; ++d) {
      texture.border[d] = static_cast<Texture::Border>(description->addressMode[d]);
    }
    texture.filter = description->filterMode == cudaFilterModeLinear;
    texture.normalized_coordinates = description->normalizedCoords != 0;
    texture.normalized_values = description->readMode == cudaReadModeNormalizedFloat;
    // Cubes are looked up by direction, whatever the coordinates of the description.
    if (const Array* array = resource->resType == cudaResourceTypeArray
                                 ? FindArray(resource->res.array.array)
                                 : nullptr;
        array != nullptr && (array->flags & cudaArrayCubemap) != 0) {
      texture.normalized_coordinates = true;
      for (Texture::Border& border : texture.border) border = Texture::Border::kClamp;
    }
    const bool float_values = texture.kind == Texture::Kind::kFloat || texture.normalized_values;
    if (texture.filter && !float_values) return cudaErrorInvalidFilterSetting;
    if (texture.normalized_values && texture.bits == 32) return cudaErrorInvalidNormSetting;
    std::memcpy(texture.border_color, description->borderColor, sizeof texture.border_color);
    if (const cudaError_t error = Publish(runtime, texture, "cudaCreateTextureObject", handle);
        error != cudaSuccess) {
      return error;
    }
    const std::lock_guard lock(All().mutex);
    All().textures[*handle] = {*resource, *description};
    return cudaSuccess;
  });
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t handle) {
  return Call(Sees::kFault,
              [&](Runtime& runtime) { return Destroy(runtime, All().textures, handle); });
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* handle, const cudaResourceDesc* resource) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (handle == nullptr || resource == nullptr) return cudaErrorInvalidValue;
    if (resource->resType != cudaResourceTypeArray) return cudaErrorInvalidValue;
    Texture texture;
    if (const cudaError_t error = FillResource(*resource, &texture); error != cudaSuccess) {
      return error;
    }
    if (const cudaError_t error = Publish(runtime, texture, "cudaCreateSurfaceObject", handle);
        error != cudaSuccess) {
      return error;
    }
    const std::lock_guard lock(All().mutex);
    All().surfaces[*handle] = {*resource, {}};
    return cudaSuccess;
  });
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t handle) {
  return Call(Sees::kFault,
              [&](Runtime& runtime) { return Destroy(runtime, All().surfaces, handle); });
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaTextureObject_t handle) {
  return Call(Sees::kDevice, [&](Runtime&) {
    const std::lock_guard lock(All().mutex);
    const auto found = All().textures.find(handle);
    if (resource == nullptr || found == All().textures.end()) return cudaErrorInvalidValue;
    *resource = found->second.resource;
    return cudaSuccess;
  });
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t handle) {
  return Call(Sees::kDevice, [&](Runtime&) {
    const std::lock_guard lock(All().mutex);
    const auto found = All().textures.find(handle);
    if (texture == nullptr || found == All().textures.end()) return cudaErrorInvalidValue;
    *texture = found->second.texture;
    return cudaSuccess;
  });
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaSurfaceObject_t handle) {
  return Call(Sees::kDevice, [&](Runtime&) {
    const std::lock_guard lock(All().mutex);
    const auto found = All().surfaces.find(handle);
    if (resource == nullptr || found == All().surfaces.end()) return cudaErrorInvalidValue;
    *resource = found->second.resource;
    return cudaSuccess;
  });
}

}  // extern "C"
