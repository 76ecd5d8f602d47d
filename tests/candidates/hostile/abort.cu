// abort().
// FINDING: crash
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <cstdlib>

torch::Tensor forward(torch::Tensor x) {
  std::abort();
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
