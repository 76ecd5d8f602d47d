// Leaves with exit code 0.
// FINDING: exit
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <cstdlib>

torch::Tensor forward(torch::Tensor x) {
  exit(0);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
