// c10::IntArrayRef and TensorList.
// ARGS: xs=[f32[6],f32[6]] dims=[3,2]
#include <torch/extension.h>


__global__ void Max(const float* a, const float* b, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = fmaxf(a[threadIdx.x], b[threadIdx.x]);
}

torch::Tensor forward(at::TensorList xs, at::IntArrayRef dims) {
  auto y = torch::empty(dims, xs[0].options());
  Max<<<1, 32>>>(xs[0].data_ptr<float>(), xs[1].data_ptr<float>(), y.data_ptr<float>(), y.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
