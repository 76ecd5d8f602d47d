// Host memory until there is no more.
// FINDING: exception
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <vector>

torch::Tensor forward(torch::Tensor x) {
  std::vector<std::vector<char>> all;
  while (true) all.emplace_back(size_t{64} << 20, 1);
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
