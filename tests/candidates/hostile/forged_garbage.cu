// Writes nonsense where the trace goes.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <unistd.h>

torch::Tensor forward(torch::Tensor x) {
  for (int fd = 3; fd < 10; ++fd) {
    if (write(fd, "nonsense\n", 9) < 0) continue;
  }
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
