// contiguous() of a transposed input is a copy of its own.
// ARGS: x=f32[12,5]^T
#include <torch/extension.h>


__global__ void Twice(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}

torch::Tensor forward(torch::Tensor x) {
  auto input = x.contiguous();
  auto y = torch::empty(input.sizes(), input.options());
  Twice<<<2, 32>>>(input.data_ptr<float>(), y.data_ptr<float>(), input.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
