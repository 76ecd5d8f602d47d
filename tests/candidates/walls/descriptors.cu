// Looks for open files of the judge; the broker has one with such a number, which is there to be found.
// ARGS: x=f32[8]
#include <fcntl.h>
#include <torch/extension.h>

#include <cstdio>

torch::Tensor forward(torch::Tensor x) {
  for (int file = 100; file < 1000; ++file) {
    if (::fcntl(file, F_GETFD) >= 0) std::fprintf(stderr, "BREACH %d\n", file);
  }
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
