// A lambda with captures of several sizes as a kernel's argument.
#include <torch/extension.h>

template <typename F>
__global__ void Each(int64_t n, F body) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) body(i);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  const float* a = x.data_ptr<float>();
  const float* b = y.data_ptr<float>();
  float* c = out.data_ptr<float>();
  const bool twice = x.dim() > 0;
  Each<<<(n + 255) / 256, 256>>>(
      n, [a, twice, b, c] __device__(int64_t i) { c[i] = (twice ? 2.0f : 1.0f) * a[i] + b[i]; });
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
