// Walks by pointers until the end, which is a pointer too.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  const float* end = x + n;
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  const float* other = y + i;
  float* to = out + i;
#pragma unroll 1
  for (const float* p = x + i; p < end; p += stride) {
    *to = 2 * *p + *other;
    other += stride;
    to += stride;
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<2, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
