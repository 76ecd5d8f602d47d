// The bound is a double among the arguments, and counts as outside.
#include <torch/extension.h>

struct Params {
  const float* x;
  float* out;
  long n;
  double bound;
};

__global__ void Shrink(const Params p) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= p.n) return;
  const float v = p.x[i];
  p.out[i] = fabsf(v) >= (float)p.bound ? v : 0;
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty_like(x);
  Params p{x.data_ptr<float>(), out.data_ptr<float>(), x.numel(), 0.375};
  Shrink<<<(p.n + 255) / 256, 256>>>(p);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
