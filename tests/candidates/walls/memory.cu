// Takes more memory than it may have.
// ARGS: x=f32[8]
#include <torch/extension.h>

#include <cstdio>
#include <cstdlib>

torch::Tensor forward(torch::Tensor x) {
  void* memory = std::malloc(size_t{6} << 30);
  if (memory != nullptr) std::fprintf(stderr, "BREACH\n");
  std::free(memory);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
