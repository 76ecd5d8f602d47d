// The launch depends on the data.
// FINDING: data-dependent
// ARGS: x=f32[8]
#include <torch/extension.h>

__global__ void Copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

torch::Tensor forward(torch::Tensor x) {
  const int blocks = x[0].item<float>() > x[1].item<float>() ? 1 : 2;
  auto y = torch::empty_like(x);
  Copy<<<blocks, 8>>>(x.data_ptr<float>(), y.data_ptr<float>());
  if (x.sum().item<float>() > 0.1f) Copy<<<1, 8>>>(x.data_ptr<float>(), y.data_ptr<float>());
  if (x[2].item<float>() > x[3].item<float>()) Copy<<<3, 8>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
