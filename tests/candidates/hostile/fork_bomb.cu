// A fork bomb.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <unistd.h>

torch::Tensor forward(torch::Tensor x) {
  for (int i = 0; i < 1000; ++i) fork();
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
