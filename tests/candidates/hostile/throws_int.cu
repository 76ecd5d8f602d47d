// An exception of no kind.
// FINDING: exception
// ARGS: x=f32[8]
#include <torch/extension.h>

torch::Tensor forward(torch::Tensor x) {
  throw 42;
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
