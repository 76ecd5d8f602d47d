// ATen operators around a kernel.
// ARGS: x=f32[6,10] w=f32[10,4]
#include <torch/extension.h>


__global__ void Relu(float* y, int n) {
  const int i = threadIdx.x;
  if (i < n && y[i] < 0) y[i] = 0;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w) {
  auto y = torch::matmul(x, w) + 0.5;
  Relu<<<1, 64>>>(y.data_ptr<float>(), y.numel());
  return y.sum(1, /*keepdim=*/true) / 4 - x.mean({1}, true);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
