// Streams, guards, device properties and the cuBLAS handle of at::cuda and c10::cuda. As in
// PyTorch, torch/extension.h alone does not bring them: a candidate that forgets ATen/cuda/ or
// c10/cuda/ would not build there.
#pragma once

#include <cuda_runtime.h>

#include "all.h"

#define C10_CUDA_CHECK(expression) ::c10::detail::CudaCheck((expression), __FILE__, __LINE__)
#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)
#define C10_CUDA_CHECK_WARN(expression) C10_CUDA_CHECK(expression)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define C10_CUDA_IGNORE_ERROR(expression) static_cast<void>(expression)

struct cublasContext;

namespace c10::cuda {

class CUDAStream {
 public:
  CUDAStream() = default;
  explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream() const { return stream_; }
  operator cudaStream_t() const { return stream_; }
  Device device() const { return Device(kCUDA, 0); }
  DeviceIndex device_index() const { return 0; }
  void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream_)); }
  bool query() const { return cudaStreamQuery(stream_) == cudaSuccess; }
  bool operator==(const CUDAStream& other) const { return stream_ == other.stream_; }
  bool operator!=(const CUDAStream& other) const { return stream_ != other.stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

CUDAStream getCurrentCUDAStream(DeviceIndex device = -1);
CUDAStream getDefaultCUDAStream(DeviceIndex device = -1);
CUDAStream getStreamFromPool(bool high_priority = false, DeviceIndex device = -1);
CUDAStream getStreamFromPool(int priority, DeviceIndex device = -1);
void setCurrentCUDAStream(CUDAStream stream);
inline int device_count() { return 1; }
inline int current_device() { return 0; }
inline void set_device(int) {}
inline void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }

struct CUDAGuard {
  explicit CUDAGuard(DeviceIndex) {}
  explicit CUDAGuard(Device) {}
  void set_device(Device) {}
  void set_index(DeviceIndex) {}
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard() = default;
  template <typename T>
  explicit OptionalCUDAGuard(const T&) {}
  template <typename T>
  void set_device(const T&) {}
};
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(CUDAStream stream) : before_(getCurrentCUDAStream()) {
    setCurrentCUDAStream(stream);
  }
  ~CUDAStreamGuard() { setCurrentCUDAStream(before_); }
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;

 private:
  CUDAStream before_;
};

namespace CUDACachingAllocator {
inline void* raw_alloc(size_t bytes) {
  void* pointer = nullptr;
  C10_CUDA_CHECK(cudaMalloc(&pointer, bytes));
  return pointer;
}
inline void raw_delete(void* pointer) { C10_CUDA_CHECK(cudaFree(pointer)); }
inline void emptyCache() {}
}  // namespace CUDACachingAllocator

}  // namespace c10::cuda

namespace at::cuda {
using namespace c10::cuda;
cudaDeviceProp* getCurrentDeviceProperties();
cudaDeviceProp* getDeviceProperties(int64_t device);
inline int warp_size() { return 32; }
inline bool is_available() { return true; }
// cublasHandle_t, without cuBLAS's own headers.
cublasContext* getCurrentCUDABlasHandle();

class CUDAEvent {
 public:
  CUDAEvent(unsigned flags = cudaEventDisableTiming) {
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags));
  }
  ~CUDAEvent() { cudaEventDestroy(event_); }
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;
  operator cudaEvent_t() const { return event_; }
  cudaEvent_t event() const { return event_; }
  void record(const CUDAStream& stream) { C10_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  void record() { record(getCurrentCUDAStream()); }
  void block(const CUDAStream& stream) { C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0)); }
  void synchronize() const { C10_CUDA_CHECK(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};
}  // namespace at::cuda
