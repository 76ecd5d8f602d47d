// The bound is a tensor that is filled.
#include <torch/extension.h>

__global__ void Shrink(const float* x, const float* bound, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  out[i] = v > *bound || v < -*bound ? v : 0;
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  auto bound = torch::full({1}, 0.375, x.options());
  Shrink<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), bound.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
