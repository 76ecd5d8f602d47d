// Registered through TORCH_LIBRARY.
// ARGS: a=f32[70] b=f32[70]
#include <torch/library.h>
#include <torch/torch.h>


__global__ void Add(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

at::Tensor AddTensors(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor out = at::empty_like(a);
  Add<<<1, 128>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), a.numel());
  return out;
}

TORCH_LIBRARY(candidate_ops, m) { m.def("forward(Tensor a, Tensor b) -> Tensor"); }
TORCH_LIBRARY_IMPL(candidate_ops, CUDA, m) { m.impl("forward", &AddTensors); }
