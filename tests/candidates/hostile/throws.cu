// An exception.
// FINDING: exception
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <stdexcept>

torch::Tensor forward(torch::Tensor x) {
  throw std::runtime_error("nobody expects this");
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
