// Reads a file.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <fstream>
#include <string>

torch::Tensor forward(torch::Tensor x) {
  std::ifstream in("/etc/passwd");
  std::string line;
  std::getline(in, line);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
