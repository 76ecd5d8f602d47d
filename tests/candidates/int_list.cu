// A list of integers as an argument.
// ARGS: x=f32[4,6] shape=[2,12]
#include <torch/extension.h>


__global__ void Negate(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = -x[threadIdx.x];
}

torch::Tensor forward(torch::Tensor x, std::vector<int64_t> shape) {
  auto y = torch::empty(shape, x.options());
  Negate<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y.view({shape[1], -1});
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
