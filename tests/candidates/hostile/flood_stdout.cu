// Gigabytes of output.
// FINDING: none
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <cstdio>
#include <string>

torch::Tensor forward(torch::Tensor x) {
  const std::string line(1 << 20, 'x');
  for (int i = 0; i < 200; ++i) std::fwrite(line.data(), 1, line.size(), stdout);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
