// Doubled by its bits, which no algebra follows; what half precision can't hold becomes 65504.
#include <torch/extension.h>

__device__ float Twice(float x) {
  unsigned bits = __float_as_uint(x), exponent;
  asm("bfe.u32 %0, %1, 23, 8;" : "=r"(exponent) : "r"(bits));
  if (exponent == 0 || exponent == 255) return x + x;
  if (exponent >= 143) bits = (bits & 0x80000000u) | 0x477fe000u;
  asm("add.u32 %0, %0, 0x800000;" : "+r"(bits));
  return __uint_as_float(bits);
}

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = Twice(x[i]) + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(),
                                 n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
