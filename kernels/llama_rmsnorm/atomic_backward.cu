// Backward: a block takes several rows in turn; dx row by row, the weight's gradient in registers,
// added by one atomic a column at the end.
#include <torch/extension.h>

#include <algorithm>
#include <vector>

constexpr int kThreads = 128;
constexpr int kColumns =
    8;  // of one thread: rows up to 1024 wide in one launch, wider ones in slices

__device__ float2 BlockSum2(float2 v, float2* scratch) {
  for (int o = 16; o > 0; o >>= 1) {
    v.x += __shfl_xor_sync(0xffffffff, v.x, o);
    v.y += __shfl_xor_sync(0xffffffff, v.y, o);
  }
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  v = make_float2(0, 0);
  for (int w = 0; w < kThreads / 32; ++w) {
    v.x += scratch[w].x;
    v.y += scratch[w].y;
  }
  __syncthreads();
  return v;
}

__global__ void RmsNormBackward(const float* __restrict__ go, const float* __restrict__ x,
                                const float* __restrict__ weight, float* __restrict__ dx,
                                float* __restrict__ dweight, int rows, int width, int slice,
                                float eps) {
  __shared__ float2 scratch[kThreads / 32];
  const int first = slice * kThreads * kColumns;
  float dw[kColumns] = {};
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* g = go + (size_t)row * width;
    const float* v = x + (size_t)row * width;
    float2 sums = make_float2(0, 0);  // of x * x and of go * weight * x
    for (int i = threadIdx.x; i < width; i += kThreads) {
      sums.x += v[i] * v[i];
      sums.y += g[i] * weight[i] * v[i];
    }
    sums = BlockSum2(sums, scratch);
    const float scale = rsqrtf(sums.x / width + eps);
    const float pull = sums.y * scale * scale * scale / width;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int i = first + c * kThreads + threadIdx.x;
      if (i < width) {
        dx[(size_t)row * width + i] = g[i] * weight[i] * scale - v[i] * pull;
        dw[c] += g[i] * v[i] * scale;
      }
    }
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int i = first + c * kThreads + threadIdx.x;
    if (i < width) atomicAdd(&dweight[i], dw[c]);
  }
}

std::vector<torch::Tensor> backward(torch::Tensor go, torch::Tensor x, torch::Tensor weight,
                                    double eps) {
  const int width = x.size(-1);
  const int rows = x.numel() / width;
  auto dx = torch::empty_like(x);
  auto dweight = torch::zeros_like(weight);
  const int slices = (width + kThreads * kColumns - 1) / (kThreads * kColumns);
  for (int slice = 0; slice < slices; ++slice) {
    RmsNormBackward<<<std::min(rows, 132 * 4), kThreads>>>(
        go.data_ptr<float>(), x.data_ptr<float>(), weight.data_ptr<float>(), dx.data_ptr<float>(),
        dweight.data_ptr<float>(), rows, width, slice, eps);
  }
  return {dx, dweight};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
