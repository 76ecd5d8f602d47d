// Filter coefficients in __constant__ memory.
// ARGS: x=f32[50]
#include <torch/extension.h>


__constant__ float kTaps[3];

__global__ void Filter(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  float sum = kTaps[1] * x[i];
  if (i > 0) sum += kTaps[0] * x[i - 1];
  if (i + 1 < n) sum += kTaps[2] * x[i + 1];
  y[i] = sum;
}

torch::Tensor forward(torch::Tensor x) {
  const float taps[3] = {0.25f, 0.5f, 0.25f};
  cudaMemcpyToSymbol(kTaps, taps, sizeof taps);
  auto y = torch::empty_like(x);
  Filter<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
