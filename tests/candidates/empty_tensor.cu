// Tensors without elements and without dimensions.
// ARGS: x=f32[0,4] s=f32[]
#include <torch/extension.h>


__global__ void Copy(const float* s, float* y) { *y = *s; }

std::vector<torch::Tensor> forward(torch::Tensor x, torch::Tensor s) {
  auto y = torch::empty({}, s.options());
  Copy<<<1, 1>>>(s.data_ptr<float>(), y.data_ptr<float>());
  return {torch::empty_like(x), y};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
