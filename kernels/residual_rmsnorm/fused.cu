// Forward: the sum is kept in registers between the two passes when the row fits, otherwise read
// back from the output.
#include <torch/extension.h>

constexpr int kThreads = 128;
constexpr int kKept = 4;

__global__ void AddRmsNorm(const float* __restrict__ x, const float* __restrict__ residual,
                           const float* __restrict__ weight, float* __restrict__ y,
                           float* __restrict__ total, int width, float eps) {
  __shared__ float warp_sums[kThreads / 32];
  __shared__ float scale_of_row;
  const size_t base = (size_t)blockIdx.x * width;
  float kept[kKept];
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const int i = k * kThreads + threadIdx.x;
    kept[k] = i < width ? x[base + i] + residual[base + i] : 0.0f;
    squares += kept[k] * kept[k];
    if (i < width) total[base + i] = kept[k];
  }
  for (int i = kKept * kThreads + threadIdx.x; i < width; i += kThreads) {
    const float t = x[base + i] + residual[base + i];
    total[base + i] = t;
    squares += t * t;
  }

  for (int o = 16; o > 0; o >>= 1) squares += __shfl_down_sync(0xffffffff, squares, o);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = squares;
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (float s : warp_sums) sum += s;
    scale_of_row = 1.0f / sqrtf(sum / width + eps);
  }
  __syncthreads();

  const float scale = scale_of_row;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const int i = k * kThreads + threadIdx.x;
    if (i < width) y[base + i] = kept[k] * scale * weight[i];
  }
  for (int i = kKept * kThreads + threadIdx.x; i < width; i += kThreads) {
    y[base + i] = total[base + i] * scale * weight[i];
  }
}

std::tuple<torch::Tensor, torch::Tensor> forward(torch::Tensor x, torch::Tensor residual,
                                                 torch::Tensor weight, double eps) {
  auto y = torch::empty_like(x);
  auto total = torch::empty_like(x);
  const int width = x.size(-1);
  AddRmsNorm<<<x.numel() / width, kThreads>>>(x.data_ptr<float>(), residual.data_ptr<float>(),
                                              weight.data_ptr<float>(), y.data_ptr<float>(),
                                              total.data_ptr<float>(), width, eps);
  return {y, total};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
