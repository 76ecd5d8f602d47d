// Writes a file.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <fstream>

torch::Tensor forward(torch::Tensor x) {
  std::ofstream("/tmp/kernelsmith-was-here") << "x";
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
