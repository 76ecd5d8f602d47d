// 100 GB of device memory.
// FINDING: exception
// ARGS: x=f32[8]
#include <torch/extension.h>

torch::Tensor forward(torch::Tensor x) {
  auto big = torch::empty({int64_t{100} << 30}, x.options().dtype(torch::kUInt8));
  if (big.numel() == 0) return x;
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
