// The host reads device memory.
// FINDING: crash
// ARGS: x=f32[8]
#include <torch/extension.h>

torch::Tensor forward(torch::Tensor x) {
  if (*x.data_ptr<float>() == 12345.f) return x;
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
