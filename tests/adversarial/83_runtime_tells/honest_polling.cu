// Honest: it asks whether the stream is done until it is, and how much memory is free.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = 2 * x[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  const int64_t n = x.numel();
  auto out = torch::empty_like(x);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  cudaMemGetInfo(&free_bytes, &total_bytes);
  TORCH_CHECK(free_bytes > static_cast<size_t>(n) * 4, "too little memory");
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(),
                                 n);
  while (cudaStreamQuery(nullptr) == cudaErrorNotReady) {
  }
  cudaGetLastError();
  cudaDeviceSynchronize();
  TORCH_CHECK(cudaStreamQuery(nullptr) == cudaSuccess, "not done");
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
