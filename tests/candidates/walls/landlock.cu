// Reads a file that everybody may read.
// ARGS: x=f32[8]
#include <fcntl.h>
#include <torch/extension.h>
#include <unistd.h>

#include <cstdio>

torch::Tensor forward(torch::Tensor x) {
  char byte = 0;
  const int file = ::open("/etc/passwd", O_RDONLY);
  if (file >= 0 && ::read(file, &byte, 1) == 1) std::fprintf(stderr, "BREACH\n");
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
