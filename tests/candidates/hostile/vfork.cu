// A process by vfork.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <unistd.h>

torch::Tensor forward(torch::Tensor x) {
  if (vfork() == 0) _exit(0);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
