// Backward: (softmax * sum(target) - target) * go / rows; one warp a row.
#include <torch/extension.h>

__device__ float WarpSum(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}

__global__ void KlLossBackward(const float* __restrict__ go, const float* __restrict__ logits,
                               const float* __restrict__ target, float* __restrict__ dx, int rows,
                               int width) {
  const int row = blockIdx.x;
  const float* z = logits + (size_t)row * width;
  const float* t = target + (size_t)row * width;
  float m = -INFINITY, mass = 0;
  for (int i = threadIdx.x; i < width; i += 32) {
    m = fmaxf(m, z[i]);
    mass += t[i];
  }
  for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
  mass = WarpSum(mass);
  float s = 0;
  for (int i = threadIdx.x; i < width; i += 32) s += expf(z[i] - m);
  s = WarpSum(s);
  const float g = *go / rows;
  for (int i = threadIdx.x; i < width; i += 32)
    dx[(size_t)row * width + i] = g * (expf(z[i] - m) / s * mass - t[i]);
}

torch::Tensor backward(torch::Tensor go, torch::Tensor logits, torch::Tensor target) {
  auto dx = torch::empty_like(logits);
  const int rows = logits.size(0), width = logits.size(1);
  KlLossBackward<<<rows, 32>>>(go.data_ptr<float>(), logits.data_ptr<float>(),
                               target.data_ptr<float>(), dx.data_ptr<float>(), rows, width);
  return dx;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
