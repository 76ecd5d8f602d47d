#include "cudart/copy.h"

#include "cudart/array.h"

namespace kernelsmith::cudart {
namespace {

// Bounds for sizes that take part in products, so that these can't overflow.
constexpr size_t kMaxExtent = size_t{1} << 42;

bool Fits(size_t width, size_t height, size_t depth, size_t pitch, size_t slice) {
  if (width > kMaxExtent || pitch > kMaxExtent || slice > kMaxExtent) return false;
  if (height > 1 && pitch > kMaxExtent / height) return false;
  return depth <= 1 || slice <= kMaxExtent / depth;
}

bool IsDeviceSide(Runtime& runtime, const void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  return runtime.memory().InReservedRange(address) || runtime.memory().Find(address).has_value();
}

bool IsPageable(Runtime& runtime, const void* pointer) { return !IsDeviceSide(runtime, pointer); }

// Arrays are memory whose rows have no gaps. Where one takes part, extents count its texels, and so
// do positions in it; positions in memory count bytes.
cudaError_t CopyWithArrays(const cudaMemcpy3DParms& p, CopyWork* work) {
  size_t texel = 0;
  cudaMemcpy3DParms plain = p;
  const auto resolve = [&](cudaArray_t& handle, cudaPitchedPtr& memory, cudaPos& position) {
    if (handle == nullptr) return memory.ptr != nullptr;
    const Array* array = FindArray(handle);
    if (array == nullptr || memory.ptr != nullptr) return false;
    if (position.x + p.extent.width > array->extent.width ||
        position.y + p.extent.height > array->height() ||
        position.z + p.extent.depth > array->depth()) {
      return false;
    }
    memory = {reinterpret_cast<void*>(array->address), array->pitch(), array->pitch(),
              array->height()};
    position.x *= array->texel_bytes;
    texel = array->texel_bytes;
    handle = nullptr;
    return true;
  };
  if (!resolve(plain.srcArray, plain.srcPtr, plain.srcPos) ||
      !resolve(plain.dstArray, plain.dstPtr, plain.dstPos)) {
    return cudaErrorInvalidValue;
  }
  plain.extent.width *= texel;
  return CopyFromParameters(plain, work);
}

}  // namespace

CopyWork LinearCopy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return {.dst = dst,
          .src = src,
          .width = count,
          .dst_pitch = count,
          .src_pitch = count,
          .dst_slice = count,
          .src_slice = count,
          .kind = kind};
}

cudaError_t CopyFromParameters(const cudaMemcpy3DParms& p, CopyWork* work) {
  if (p.srcArray != nullptr || p.dstArray != nullptr) return CopyWithArrays(p, work);
  if (p.srcPtr.ptr == nullptr || p.dstPtr.ptr == nullptr) return cudaErrorInvalidValue;
  const auto start = [](const cudaPitchedPtr& pointer, const cudaPos& position) {
    return static_cast<std::byte*>(pointer.ptr) + position.z * pointer.pitch * pointer.ysize +
           position.y * pointer.pitch + position.x;
  };
  *work = {.dst = start(p.dstPtr, p.dstPos),
           .src = start(p.srcPtr, p.srcPos),
           .width = p.extent.width,
           .height = p.extent.height,
           .depth = p.extent.depth,
           .dst_pitch = p.dstPtr.pitch,
           .src_pitch = p.srcPtr.pitch,
           .dst_slice = p.dstPtr.pitch * p.dstPtr.ysize,
           .src_slice = p.srcPtr.pitch * p.srcPtr.ysize,
           .kind = p.kind};
  return cudaSuccess;
}

cudaMemcpy3DParms ParametersOf(const CopyWork& work) {
  const auto rows = [](size_t slice, size_t pitch) { return pitch == 0 ? 0 : slice / pitch; };
  cudaMemcpy3DParms p{};
  p.srcPtr = {const_cast<void*>(work.src), work.src_pitch, work.width,
              rows(work.src_slice, work.src_pitch)};
  p.dstPtr = {work.dst, work.dst_pitch, work.width, rows(work.dst_slice, work.dst_pitch)};
  p.extent = {work.width, work.height, work.depth};
  p.kind = work.kind;
  return p;
}

cudaError_t FillFromParameters(const cudaMemsetParams& p, FillWork* work) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) return cudaErrorInvalidValue;
  *work = {.dst = p.dst,
           .value = p.value,
           .element_bytes = p.elementSize,
           .width = p.width,
           .height = p.height,
           .pitch = p.pitch};
  return cudaSuccess;
}

cudaMemsetParams ParametersOf(const FillWork& work) {
  cudaMemsetParams p{};
  p.dst = work.dst;
  p.pitch = work.pitch;
  p.value = work.value;
  p.elementSize = work.element_bytes;
  p.width = work.width;
  p.height = work.height;
  return p;
}

cudaError_t CheckCopy(Runtime& runtime, const CopyWork& work) {
  bool dst_on_device = false;
  bool src_on_device = false;
  switch (work.kind) {
    case cudaMemcpyHostToHost:
      break;
    case cudaMemcpyHostToDevice:
      dst_on_device = true;
      break;
    case cudaMemcpyDeviceToHost:
      src_on_device = true;
      break;
    case cudaMemcpyDeviceToDevice:
      dst_on_device = src_on_device = true;
      break;
    case cudaMemcpyDefault:
      break;  // decided by the addresses
    default:
      return cudaErrorInvalidMemcpyDirection;
  }
  if (work.empty()) return cudaSuccess;
  if (work.height > 1 && (work.dst_pitch < work.width || work.src_pitch < work.width)) {
    return cudaErrorInvalidPitchValue;
  }
  if (!Fits(work.width, work.height, work.depth, work.dst_pitch, work.dst_slice) ||
      !Fits(work.width, work.height, work.depth, work.src_pitch, work.src_slice)) {
    return cudaErrorInvalidValue;
  }
  if (work.dst == nullptr || work.src == nullptr) return cudaErrorInvalidValue;
  if (dst_on_device && !IsDeviceSide(runtime, work.dst)) return cudaErrorInvalidValue;
  if (src_on_device && !IsDeviceSide(runtime, work.src)) return cudaErrorInvalidValue;
  if (runtime.Access(work.dst, work.dst_extent()) == nullptr ||
      runtime.Access(work.src, work.src_extent()) == nullptr) {
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t CheckFill(Runtime& runtime, const FillWork& work) {
  if (work.empty()) return cudaSuccess;
  if (work.height > 1 && work.pitch < work.row_bytes()) return cudaErrorInvalidPitchValue;
  if (!Fits(work.row_bytes(), work.height, work.depth, work.pitch, work.slice)) {
    return cudaErrorInvalidValue;
  }
  if (work.dst == nullptr || !IsDeviceSide(runtime, work.dst) ||
      runtime.Access(work.dst, work.extent()) == nullptr) {
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t FindSymbol(Runtime& runtime, const void* symbol, size_t count, size_t offset,
                       void** address) {
  const auto found = runtime.registry().FindVariable(symbol);
  if (!found) return cudaErrorInvalidSymbol;
  if (const cudaError_t error =
          found->module->Load(runtime.gpu(), runtime.model(), runtime.recorder());
      error != cudaSuccess) {
    return error;
  }
  const vgpu::VariableInfo* info = found->module->loaded()->FindVariable(found->variable.name);
  if (info == nullptr) return cudaErrorInvalidSymbol;
  if (offset > info->size || count > info->size - offset) return cudaErrorInvalidValue;
  *address = reinterpret_cast<void*>(info->address + offset);
  return cudaSuccess;
}

cudaError_t SubmitCopy(Runtime& runtime, cudaStream_t handle, const CopyWork& work,
                       Runtime::Completion completion) {
  const std::shared_ptr<Stream> stream = runtime.FindStream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t error = CheckCopy(runtime, work); error != cudaSuccess) return error;
  if (completion == Runtime::Completion::kComplete) {
    return runtime.Submit(stream, work, completion);
  }
  TaskPtr task;
  const cudaError_t error = runtime.Submit(stream, work, completion, &task);
  if (task != nullptr && (IsPageable(runtime, work.dst) || IsPageable(runtime, work.src))) {
    runtime.WaitForTask(task);
  }
  return error;
}

cudaError_t SubmitFill(Runtime& runtime, cudaStream_t handle, const FillWork& work,
                       Runtime::Completion completion) {
  const std::shared_ptr<Stream> stream = runtime.FindStream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t error = CheckFill(runtime, work); error != cudaSuccess) return error;
  return runtime.Submit(stream, work, completion);
}

}  // namespace kernelsmith::cudart
