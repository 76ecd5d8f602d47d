// Deletes a file.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <unistd.h>

torch::Tensor forward(torch::Tensor x) {
  unlink("/tmp/kernelsmith-does-not-exist");
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
