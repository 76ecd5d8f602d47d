// An optional tensor that is given, undefined tensors otherwise.
// ARGS: x=f32[5,8] bias=f32[8]
#include <torch/extension.h>


__global__ void Bias(const float* x, const float* bias, float* y, int columns) {
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = x[i] + bias[threadIdx.x];
}

torch::Tensor forward(torch::Tensor x, const std::optional<torch::Tensor>& bias) {
  torch::Tensor b = bias.value_or(torch::Tensor());
  if (!b.defined()) return x.clone();
  auto y = torch::empty_like(x);
  Bias<<<x.size(0), x.size(1)>>>(x.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(),
                                 x.size(1));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
