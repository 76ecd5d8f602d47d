// Honest: one cooperative launch: partial sums, a barrier of the grid, the rest.
#include <torch/extension.h>

#include <cooperative_groups.h>

namespace cg = cooperative_groups;
__global__ void Mse(const float* p, const float* t, float* parts, float* out, int64_t n) {
  __shared__ float warps[4];
  float sum = 0;
  for (int64_t i = blockIdx.x * 128 + threadIdx.x; i < n; i += int64_t{gridDim.x} * 128) {
    sum += (p[i] - t[i]) * (p[i] - t[i]);
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) parts[blockIdx.x] = warps[0] + warps[1] + warps[2] + warps[3];
  cg::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += parts[b];
    *out = total / n;
  }
}

torch::Tensor forward(torch::Tensor prediction, torch::Tensor target) {
  auto parts = torch::empty({8}, prediction.options());
  auto out = torch::empty({}, prediction.options());
  const float* p = prediction.data_ptr<float>();
  const float* t = target.data_ptr<float>();
  float* to_parts = parts.data_ptr<float>();
  float* to = out.data_ptr<float>();
  int64_t n = prediction.numel();
  void* arguments[] = {&p, &t, &to_parts, &to, &n};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Mse), dim3(8), dim3(128), arguments, 0, nullptr);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
