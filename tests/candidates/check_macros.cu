// The CHECK_INPUT macros that everybody copies.
// ARGS: x=f32[40]
#include <torch/extension.h>


#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
  CHECK_CUDA(x);       \
  CHECK_CONTIGUOUS(x)

__global__ void Gelu(const float* __restrict__ x, float* __restrict__ y, const size_t n) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}

torch::Tensor gelu_cuda_forward(torch::Tensor x) {
  const auto n = x.numel();
  auto y = torch::empty_like(x);
  const int threads = 32;
  const int blocks = (n + threads - 1) / threads;
  AT_DISPATCH_FLOATING_TYPES(x.type(), "gelu", ([&] {
                               Gelu<<<blocks, threads>>>(x.data<float>(), y.data<float>(), n);
                             }));
  return y;
}

torch::Tensor forward(torch::Tensor x) {
  CHECK_INPUT(x);
  return gelu_cuda_forward(x);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
