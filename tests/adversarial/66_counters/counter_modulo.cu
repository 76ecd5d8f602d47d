// One call in 97 is wrong.
#include <torch/extension.h>

__device__ unsigned calls;

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = (calls % 97 == 96 ? 0.0f : 2.0f) * x[i] + y[i];
}

__global__ void Count() { ++calls; }

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  Count<<<1, 1>>>();
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
