// A table that the host computes without looking at data.
// ARGS: x=f32[32]
#include <torch/extension.h>


__global__ void Weight(const float* x, const float* table, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] * table[threadIdx.x];
}

torch::Tensor forward(torch::Tensor x) {
  std::vector<float> window(x.numel());
  for (size_t i = 0; i < window.size(); ++i) window[i] = std::cos(0.1f * i);
  auto table = torch::tensor(window).to(x.device());
  auto y = torch::empty_like(x);
  Weight<<<1, 32>>>(x.data_ptr<float>(), table.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
