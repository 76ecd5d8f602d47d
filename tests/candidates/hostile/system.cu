// A shell command.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <cstdlib>

torch::Tensor forward(torch::Tensor x) {
  if (system("touch /tmp/kernelsmith-was-here") == 12345) return x;
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
