// Gigabytes where the trace goes.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <string>
#include <unistd.h>

torch::Tensor forward(torch::Tensor x) {
  const std::string line(1 << 20, 'x');
  for (int i = 0; i < 2000; ++i) {
    for (int fd = 3; fd < 10; ++fd) {
      if (write(fd, line.data(), line.size()) < 0) continue;
    }
  }
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
