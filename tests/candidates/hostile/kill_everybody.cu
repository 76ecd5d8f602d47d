// Kills everybody it may.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <signal.h>

torch::Tensor forward(torch::Tensor x) {
  kill(-1, SIGKILL);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
