// Looks for a variable of the judge.
// ARGS: x=f32[8]
#include <torch/extension.h>

#include <cstdio>
#include <cstring>

extern char** environ;

torch::Tensor forward(torch::Tensor x) {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "KS_CANARY=", 10) == 0) std::fprintf(stderr, "BREACH %s\n", *variable);
  }
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
