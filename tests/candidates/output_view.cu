// The result is a transposed view of what was written.
// ARGS: x=f32[6,4]
#include <torch/extension.h>


__global__ void Copy(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x];
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  Copy<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y.t();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
