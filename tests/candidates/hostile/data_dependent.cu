// The launch depends on the data.
// FINDING: data_dependent
// ARGS: x=f32[8]
#include <torch/extension.h>

__global__ void Copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

torch::Tensor forward(torch::Tensor x) {
  const int blocks = 1 + static_cast<int>(std::fabs(x[0].item<float>()) * 1000);
  auto y = torch::empty_like(x);
  Copy<<<blocks, 8>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
