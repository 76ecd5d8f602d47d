// Writes a file before anybody calls it.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <fcntl.h>

static const int opened = open("/tmp/kernelsmith-was-here", O_CREAT | O_WRONLY, 0600);

torch::Tensor forward(torch::Tensor x) {
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
