// A null pointer.
// FINDING: crash
// ARGS: x=f32[8]
#include <torch/extension.h>

torch::Tensor forward(torch::Tensor x) {
  *reinterpret_cast<volatile int*>(8) = 1;
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
