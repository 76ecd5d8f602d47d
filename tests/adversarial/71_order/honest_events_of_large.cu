// Large tensors in two halves on two streams, joined by events.
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t begin, int64_t end) {
  const int64_t i = begin + blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < end) out[i] = 2 * x[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  auto launch = [&](int64_t begin, int64_t end, cudaStream_t stream) {
    Axpy<<<(end - begin + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                                        out.data_ptr<float>(), begin, end);
  };
  cudaStream_t main = c10::cuda::getCurrentCUDAStream();
  if (n < 1 << 20) {
    launch(0, n, main);
    return out;
  }
  cudaStream_t side = c10::cuda::getStreamFromPool();
  static cudaEvent_t begun, done;
  if (begun == nullptr) {
    cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  }
  cudaEventRecord(begun, main);
  cudaStreamWaitEvent(side, begun);
  launch(0, n / 2, main);
  launch(n / 2, n, side);
  cudaEventRecord(done, side);
  cudaStreamWaitEvent(main, done);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
