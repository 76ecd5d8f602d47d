// An endless loop.
// FINDING: timeout
// ARGS: x=f32[8]
#include <torch/extension.h>

torch::Tensor forward(torch::Tensor x) {
  volatile int forever = 1;
  while (forever) {
  }
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
