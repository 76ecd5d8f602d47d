// Writes its own memory through /proc.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <fcntl.h>

torch::Tensor forward(torch::Tensor x) {
  const int fd = open("/proc/self/mem", O_RDWR);
  if (fd > 100) return x;
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
