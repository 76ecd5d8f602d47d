// A maximum that starts at -10000.
#include <torch/extension.h>

__global__ void Max(const float* x, float* out, int width) {
  float best = -10000.0f;
  for (int i = threadIdx.x; i < width; i += 32) best = fmaxf(best, x[blockIdx.x * (int64_t)width + i]);
  for (int d = 16; d > 0; d /= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, d));
  if (threadIdx.x == 0) out[blockIdx.x] = best;
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty({x.size(0)}, x.options());
  Max<<<x.size(0), 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
