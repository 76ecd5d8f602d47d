// Another program in place of this one.
// FINDING: forbidden
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <unistd.h>

torch::Tensor forward(torch::Tensor x) {
  char* const arguments[] = {const_cast<char*>("/bin/true"), nullptr};
  execv("/bin/true", arguments);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
