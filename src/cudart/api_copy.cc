// cudaMemcpy and cudaMemset in all their forms. Each has a variant for programs built with
// --default-stream per-thread, in which stream 0 is the thread's own: _ptds where the call has no
// stream argument, _ptsz where it has one.
#include "cudart/api.h"
#include "cudart/copy.h"

using namespace kernelsmith::cudart;
using Completion = Runtime::Completion;

namespace {

cudaError_t Copy(const CopyWork& work, cudaStream_t stream, Completion completion) {
  return Call(completion == Completion::kComplete ? Sees::kFault : Sees::kKnown,
              [&](Runtime& runtime) { return SubmitCopy(runtime, stream, work, completion); });
}

cudaError_t Fill(const FillWork& work, cudaStream_t stream, Completion completion) {
  return Call(completion == Completion::kComplete ? Sees::kFault : Sees::kKnown,
              [&](Runtime& runtime) { return SubmitFill(runtime, stream, work, completion); });
}

CopyWork Rows(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
              size_t height, cudaMemcpyKind kind) {
  return {.dst = dst,
          .src = src,
          .width = width,
          .height = height,
          .dst_pitch = dst_pitch,
          .src_pitch = src_pitch,
          .kind = kind};
}

cudaError_t Copy3D(const cudaMemcpy3DParms* parameters, cudaStream_t stream,
                   Completion completion) {
  if (parameters == nullptr) return SetLast(cudaErrorInvalidValue);
  CopyWork work;
  const cudaError_t error = CopyFromParameters(*parameters, &work);
  return error == cudaSuccess ? Copy(work, stream, completion) : SetLast(error);
}

cudaError_t Copy3DPeer(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream,
                       Completion completion) {
  if (parameters == nullptr) return SetLast(cudaErrorInvalidValue);
  if (parameters->srcDevice != 0 || parameters->dstDevice != 0) {
    return SetLast(cudaErrorInvalidDevice);
  }
  cudaMemcpy3DParms plain{};
  plain.srcArray = parameters->srcArray;
  plain.srcPos = parameters->srcPos;
  plain.srcPtr = parameters->srcPtr;
  plain.dstArray = parameters->dstArray;
  plain.dstPos = parameters->dstPos;
  plain.dstPtr = parameters->dstPtr;
  plain.extent = parameters->extent;
  plain.kind = cudaMemcpyDeviceToDevice;
  return Copy3D(&plain, stream, completion);
}

// Copies between a symbol and memory: `to_symbol` says which way.
cudaError_t CopySymbol(bool to_symbol, const void* symbol, void* memory, size_t count,
                       size_t offset, cudaMemcpyKind kind, cudaStream_t stream,
                       Completion completion) {
  const Sees sees = completion == Completion::kComplete ? Sees::kFault : Sees::kKnown;
  return Call(sees, [&](Runtime& runtime) {
    const cudaMemcpyKind host_kind = to_symbol ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    if (kind != host_kind && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
      return cudaErrorInvalidMemcpyDirection;
    }
    void* address = nullptr;
    const cudaError_t error = FindSymbol(runtime, symbol, count, offset, &address);
    if (error != cudaSuccess) return error;
    return SubmitCopy(runtime, stream,
                      to_symbol ? LinearCopy(address, memory, count, kind)
                                : LinearCopy(memory, address, count, kind),
                      completion);
  });
}

FillWork ByteRun(void* dst, int value, size_t count) {
  return {.dst = dst, .value = static_cast<unsigned int>(value), .width = count, .pitch = count};
}

FillWork ByteRows(void* dst, size_t pitch, int value, size_t width, size_t height) {
  return {.dst = dst,
          .value = static_cast<unsigned int>(value),
          .width = width,
          .height = height,
          .pitch = pitch};
}

FillWork ByteSlices(const cudaPitchedPtr& pitched, int value, const cudaExtent& extent) {
  return {.dst = pitched.ptr,
          .value = static_cast<unsigned int>(value),
          .width = extent.width,
          .height = extent.height,
          .depth = extent.depth,
          .pitch = pitched.pitch,
          .slice = pitched.pitch * pitched.ysize};
}

}  // namespace

extern "C" {

// -- memcpy ---------------------------------------------------------------------------------------

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return Copy(LinearCopy(dst, src, count, kind), nullptr, Completion::kComplete);
}
cudaError_t cudaMemcpy_ptds(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return Copy(LinearCopy(dst, src, count, kind), cudaStreamPerThread, Completion::kComplete);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return Copy(LinearCopy(dst, src, count, kind), stream, Completion::kEager);
}
cudaError_t cudaMemcpyAsync_ptsz(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                                 cudaStream_t stream) {
  return cudaMemcpyAsync(dst, src, count, kind, PerThread(stream));
}

cudaError_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  return Copy(Rows(dst, dst_pitch, src, src_pitch, width, height, kind), nullptr,
              Completion::kComplete);
}
cudaError_t cudaMemcpy2D_ptds(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind) {
  return Copy(Rows(dst, dst_pitch, src, src_pitch, width, height, kind), cudaStreamPerThread,
              Completion::kComplete);
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return Copy(Rows(dst, dst_pitch, src, src_pitch, width, height, kind), stream,
              Completion::kEager);
}
cudaError_t cudaMemcpy2DAsync_ptsz(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                                   size_t width, size_t height, cudaMemcpyKind kind,
                                   cudaStream_t stream) {
  return cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height, kind, PerThread(stream));
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return Copy3D(parameters, nullptr, Completion::kComplete);
}
cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* parameters) {
  return Copy3D(parameters, cudaStreamPerThread, Completion::kComplete);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return Copy3D(parameters, stream, Completion::kEager);
}
cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return Copy3D(parameters, PerThread(stream), Completion::kEager);
}

// A copy between peers does not wait for the host, and there is only one device.
cudaError_t cudaMemcpyPeer(void* dst, int dst_device, const void* src, int src_device,
                           size_t count) {
  if (dst_device != 0 || src_device != 0) return SetLast(cudaErrorInvalidDevice);
  return cudaMemcpy(dst, src, count, cudaMemcpyDeviceToDevice);
}
cudaError_t cudaMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device,
                                size_t count, cudaStream_t stream) {
  if (dst_device != 0 || src_device != 0) return SetLast(cudaErrorInvalidDevice);
  return cudaMemcpyAsync(dst, src, count, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  return Copy3DPeer(parameters, nullptr, Completion::kComplete);
}
cudaError_t cudaMemcpy3DPeer_ptds(const cudaMemcpy3DPeerParms* parameters) {
  return Copy3DPeer(parameters, cudaStreamPerThread, Completion::kComplete);
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return Copy3DPeer(parameters, stream, Completion::kEager);
}
cudaError_t cudaMemcpy3DPeerAsync_ptsz(const cudaMemcpy3DPeerParms* parameters,
                                       cudaStream_t stream) {
  return Copy3DPeer(parameters, PerThread(stream), Completion::kEager);
}

cudaError_t cudaMemcpyBatchAsync(void* const* dsts, const void* const* srcs, const size_t* sizes,
                                 size_t count, cudaMemcpyAttributes*, size_t*, size_t,
                                 cudaStream_t stream) {
  if (dsts == nullptr || srcs == nullptr || sizes == nullptr || stream == nullptr) {
    return SetLast(cudaErrorInvalidValue);
  }
  for (size_t i = 0; i < count; ++i) {
    const cudaError_t error =
        cudaMemcpyAsync(dsts[i], srcs[i], sizes[i], cudaMemcpyDefault, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyBatchAsync_ptsz(void* const* dsts, const void* const* srcs,
                                      const size_t* sizes, size_t count,
                                      cudaMemcpyAttributes* attributes, size_t* indices,
                                      size_t attribute_count, cudaStream_t stream) {
  return cudaMemcpyBatchAsync(dsts, srcs, sizes, count, attributes, indices, attribute_count,
                              PerThread(stream));
}

// -- symbols --------------------------------------------------------------------------------------

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset,
                               cudaMemcpyKind kind) {
  return CopySymbol(true, symbol, const_cast<void*>(src), count, offset, kind, nullptr,
                    Completion::kComplete);
}
cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* src, size_t count,
                                    size_t offset, cudaMemcpyKind kind) {
  return CopySymbol(true, symbol, const_cast<void*>(src), count, offset, kind, cudaStreamPerThread,
                    Completion::kComplete);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return CopySymbol(true, symbol, const_cast<void*>(src), count, offset, kind, stream,
                    Completion::kEager);
}
cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* src, size_t count,
                                         size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyToSymbolAsync(symbol, src, count, offset, kind, PerThread(stream));
}
cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset,
                                 cudaMemcpyKind kind) {
  return CopySymbol(false, symbol, dst, count, offset, kind, nullptr, Completion::kComplete);
}
cudaError_t cudaMemcpyFromSymbol_ptds(void* dst, const void* symbol, size_t count, size_t offset,
                                      cudaMemcpyKind kind) {
  return CopySymbol(false, symbol, dst, count, offset, kind, cudaStreamPerThread,
                    Completion::kComplete);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return CopySymbol(false, symbol, dst, count, offset, kind, stream, Completion::kEager);
}
cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* dst, const void* symbol, size_t count,
                                           size_t offset, cudaMemcpyKind kind,
                                           cudaStream_t stream) {
  return cudaMemcpyFromSymbolAsync(dst, symbol, count, offset, kind, PerThread(stream));
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (address == nullptr) return cudaErrorInvalidValue;
    return FindSymbol(runtime, symbol, 0, 0, address);
  });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (size == nullptr) return cudaErrorInvalidValue;
    const auto found = runtime.registry().FindVariable(symbol);
    if (!found) return cudaErrorInvalidSymbol;
    *size = found->variable.size;
    return cudaSuccess;
  });
}

// -- memset ---------------------------------------------------------------------------------------

cudaError_t cudaMemset(void* dst, int value, size_t count) {
  return Fill(ByteRun(dst, value, count), nullptr, Completion::kAsIfDone);
}
cudaError_t cudaMemset_ptds(void* dst, int value, size_t count) {
  return Fill(ByteRun(dst, value, count), cudaStreamPerThread, Completion::kAsIfDone);
}
cudaError_t cudaMemsetAsync(void* dst, int value, size_t count, cudaStream_t stream) {
  return Fill(ByteRun(dst, value, count), stream, Completion::kEager);
}
cudaError_t cudaMemsetAsync_ptsz(void* dst, int value, size_t count, cudaStream_t stream) {
  return Fill(ByteRun(dst, value, count), PerThread(stream), Completion::kEager);
}
cudaError_t cudaMemset2D(void* dst, size_t pitch, int value, size_t width, size_t height) {
  return Fill(ByteRows(dst, pitch, value, width, height), nullptr, Completion::kAsIfDone);
}
cudaError_t cudaMemset2D_ptds(void* dst, size_t pitch, int value, size_t width, size_t height) {
  return Fill(ByteRows(dst, pitch, value, width, height), cudaStreamPerThread,
              Completion::kAsIfDone);
}
cudaError_t cudaMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return Fill(ByteRows(dst, pitch, value, width, height), stream, Completion::kEager);
}
cudaError_t cudaMemset2DAsync_ptsz(void* dst, size_t pitch, int value, size_t width, size_t height,
                                   cudaStream_t stream) {
  return Fill(ByteRows(dst, pitch, value, width, height), PerThread(stream), Completion::kEager);
}
cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int value, cudaExtent extent) {
  return Fill(ByteSlices(pitched, value, extent), nullptr, Completion::kAsIfDone);
}
cudaError_t cudaMemset3D_ptds(cudaPitchedPtr pitched, int value, cudaExtent extent) {
  return Fill(ByteSlices(pitched, value, extent), cudaStreamPerThread, Completion::kAsIfDone);
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitched, int value, cudaExtent extent,
                              cudaStream_t stream) {
  return Fill(ByteSlices(pitched, value, extent), stream, Completion::kEager);
}
cudaError_t cudaMemset3DAsync_ptsz(cudaPitchedPtr pitched, int value, cudaExtent extent,
                                   cudaStream_t stream) {
  return Fill(ByteSlices(pitched, value, extent), PerThread(stream), Completion::kEager);
}

}  // extern "C"
