// The bound is copied to the GPU, and counts as outside.
#include <torch/extension.h>

__constant__ float bound[1];

__global__ void Shrink(const float* x, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  out[i] = v >= bound[0] || v <= -bound[0] ? v : 0;
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  const float lambda = 0.375f;
  cudaMemcpyToSymbol(bound, &lambda, sizeof lambda);
  Shrink<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
