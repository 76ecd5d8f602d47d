// The input is changed and returned.
// ARGS: x=f32[16]
#include <torch/extension.h>


__global__ void Sqrt(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = sqrtf(fabsf(x[threadIdx.x]));
}

torch::Tensor forward(torch::Tensor x) {
  Sqrt<<<1, 32>>>(x.data_ptr<float>(), x.numel());
  return x;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
