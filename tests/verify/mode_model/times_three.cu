#include <torch/extension.h>

__global__ void TimesThree(const float* x, float* y, int64_t count) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < count) y[i] = x[i] * 3;
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  TimesThree<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
