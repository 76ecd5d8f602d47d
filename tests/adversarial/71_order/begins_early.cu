// The caller waits for the side stream, but the side stream does not wait for the caller: it may
// read inputs that are still being made.
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = 2 * x[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  static cudaStream_t side = nullptr;
  static cudaEvent_t end = nullptr;
  if (side == nullptr) {
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
  }
  const cudaStream_t caller = c10::cuda::getCurrentCUDAStream();
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 255) / 256, 256, 0, side>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                          out.data_ptr<float>(), n);
  cudaEventRecord(end, side);
  cudaStreamWaitEvent(caller, end, 0);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
