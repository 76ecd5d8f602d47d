// Wrong: 80 KB of constant memory; there are 64.
#include <torch/extension.h>

__constant__ float table[20000] = {2.0f};

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = table[i % 1] * x[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  const int64_t n = x.numel();
  auto out = torch::empty_like(x);
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(),
                                 n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
