// at::Scalar and strings as arguments.
// ARGS: x=f32[12] alpha=3 mode="double"
#include <torch/extension.h>


__global__ void Scale(const float* x, float* y, float by, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] * by;
}

torch::Tensor forward(const torch::Tensor& x, const at::Scalar& alpha, const std::string& mode) {
  TORCH_CHECK(mode == "single" || mode == "double", "unknown mode ", mode);
  auto y = torch::empty_like(x);
  const float by = alpha.to<float>() * (mode == "double" ? 2 : 1);
  Scale<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), by, x.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
