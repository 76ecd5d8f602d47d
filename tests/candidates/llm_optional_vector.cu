// A list of tensors in, optionals (one of them absent), a vector out.
// ARGS: x=f32[4,10] weights=[f32[10,10],f32[10,10]] bias=f32[10] mask=none
#include <torch/extension.h>

__global__ void bias_relu(float* y, const float* bias, const bool* mask, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * cols) return;
  float v = y[i] + (bias ? bias[i % cols] : 0.f);
  if (mask && !mask[i]) v = 0.f;
  y[i] = v > 0.f ? v : 0.f;
}

std::vector<torch::Tensor> forward(torch::Tensor x, std::vector<torch::Tensor> weights,
                                   c10::optional<torch::Tensor> bias, const c10::optional<at::Tensor>& mask) {
  std::vector<torch::Tensor> outputs;
  outputs.reserve(weights.size());
  for (const auto& w : weights) {
    torch::Tensor y = torch::matmul(x, w.t());
    const float* b = bias.has_value() && bias->defined() ? bias.value().data_ptr<float>() : nullptr;
    const bool* m = mask ? mask->data_ptr<bool>() : nullptr;
    const int rows = y.size(0), cols = y.size(1);
    bias_relu<<<(rows * cols + 255) / 256, 256>>>(y.data_ptr<float>(), b, m, rows, cols);
    outputs.push_back(y);
  }
  return outputs;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, py::arg("x"), py::arg("weights"), py::arg("bias") = py::none(), py::arg("mask") = py::none());
}
