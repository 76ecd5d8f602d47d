// The last block sets the ticket back to zero, so that each call finds it so.
#include <torch/extension.h>

__device__ unsigned ticket;

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = 2.0f * x[i] + y[i];
  if (threadIdx.x == 0 && atomicAdd(&ticket, 1) == gridDim.x - 1) ticket = 0;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
