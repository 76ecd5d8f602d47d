// 100 GB of host memory.
// FINDING: exception
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <vector>

torch::Tensor forward(torch::Tensor x) {
  std::vector<char> memory(size_t{100} << 30, 1);
  if (memory[12345] != 1) return x;
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
