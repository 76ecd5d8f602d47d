// Cheat: another dtype.
#include <torch/extension.h>

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  return torch::zeros(x.sizes(), x.options().dtype(torch::kFloat64));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
