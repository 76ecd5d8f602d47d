// Launch parameters from shapes, loops of launches.
// ARGS: x=f32[64]
#include <torch/extension.h>


__global__ void Butterfly(float* y, int stride, int n) {
  const int i = threadIdx.x;
  if (i < n && (i & stride) == 0) {
    const float a = y[i], b = y[i + stride];
    y[i] = a + b;
    y[i + stride] = a - b;
  }
}

torch::Tensor forward(torch::Tensor x) {
  auto y = x.clone();
  const int n = y.numel();
  for (int stride = 1; stride < n; stride *= 2) Butterfly<<<1, n>>>(y.data_ptr<float>(), stride, n);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
