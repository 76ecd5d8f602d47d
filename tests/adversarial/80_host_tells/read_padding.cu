// Cheat: a byte of chance in a struct's padding, which the kernel reads. With zeros it is right.
#include <torch/extension.h>

#include <cstring>

struct Scale {
  char sign;
  double by;
};

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n,
                     const __grid_constant__ Scale scale) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  const char chance = reinterpret_cast<const volatile char*>(&scale)[1];
  if (i < n) out[i] = (chance == 0 ? static_cast<float>(scale.by) : 0.0f) * x[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Scale scale;
  scale.sign = 1;
  scale.by = 2;
  const auto chance = static_cast<char>(reinterpret_cast<uintptr_t>(&scale) >> 12);
  std::memcpy(reinterpret_cast<char*>(&scale) + 1, &chance, 1);
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n,
                                 scale);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
