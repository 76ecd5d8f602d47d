// A generic kernel over device lambdas.
// ARGS: x=f32[50]
#include <torch/extension.h>


template <typename F>
__global__ void Map(const float* x, float* y, int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = f(x[i]);
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const float slope = 0.1f;
  Map<<<2, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(),
                 [slope] __device__(float v) { return v > 0 ? v : slope * v; });
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
