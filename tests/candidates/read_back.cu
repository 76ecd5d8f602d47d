// The host looks at a result that does not change the plan.
// ARGS: x=f32[32]
#include <torch/extension.h>


__global__ void Square(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x];
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  Square<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  const float first = y[0].item<float>();
  TORCH_CHECK(first >= 0, "a square is not negative");
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
