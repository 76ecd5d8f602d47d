// Lanes behind the end of a row count as -65504.
#include <torch/extension.h>

__global__ void Max(const float* x, float* out, int width) {
  float best = -INFINITY;
  for (int base = 0; base < width; base += 32) {
    const int i = base + threadIdx.x;
    best = fmaxf(best, i < width ? x[blockIdx.x * (int64_t)width + i] : -65504.0f);
  }
  for (int d = 16; d > 0; d /= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, d));
  if (threadIdx.x == 0) out[blockIdx.x] = best;
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty({x.size(0)}, x.options());
  Max<<<x.size(0), 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
