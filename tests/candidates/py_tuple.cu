// py::tuple as the result, py::arg with defaults.
// ARGS: x=f32[16]
#include <torch/extension.h>


__global__ void Scale(const float* x, float* y, float by, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] * by;
}

py::tuple forward(torch::Tensor x, double by) {
  auto y = torch::empty_like(x);
  Scale<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(by), x.numel());
  return py::make_tuple(y, x.clone());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "a candidate";
  m.def("forward", &forward, "scale", py::arg("x"), py::arg("by") = 2.5);
}
