// A function forward without PYBIND11_MODULE, as load_inline wants it.
// ARGS: a=f32[70] b=f32[70]
#include <torch/extension.h>


__global__ void Add(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  auto out = torch::empty_like(a);
  Add<<<1, 128>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), a.numel());
  return out;
}
