// The answer is computed on the CPU.
// FINDING: host_computed
// ARGS: x=f32[8]
#include <torch/extension.h>

torch::Tensor forward(torch::Tensor x) {
  auto host = x.cpu();
  float* values = host.data_ptr<float>();
  for (int i = 0; i < host.numel(); ++i) values[i] = values[i] * values[i];
  return host.cuda();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
