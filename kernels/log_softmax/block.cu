// Forward: one block a row; warp shuffles, then one value a warp in shared memory; writes x - max -
// log(sum).
#include <torch/extension.h>

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

__global__ void LogSoftmax(const float* __restrict__ x, float* __restrict__ y, int columns) {
  __shared__ float maxima[kWarps];
  __shared__ float sums[kWarps];
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  const size_t base = (size_t)blockIdx.x * columns;

  float m = -INFINITY;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) m = fmaxf(m, x[base + c]);
  for (int o = 16; o > 0; o /= 2) m = fmaxf(m, __shfl_down_sync(0xffffffff, m, o));
  if (lane == 0) maxima[warp] = m;
  __syncthreads();
  m = maxima[0];
  for (int w = 1; w < kWarps; ++w) m = fmaxf(m, maxima[w]);

  float s = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) s += expf(x[base + c] - m);
  for (int o = 16; o > 0; o /= 2) s += __shfl_down_sync(0xffffffff, s, o);
  if (lane == 0) sums[warp] = s;
  __syncthreads();
  s = 0;
  for (int w = 0; w < kWarps; ++w) s += sums[w];

  const float shift = m + logf(s);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) y[base + c] = x[base + c] - shift;
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int columns = x.size(-1);
  LogSoftmax<<<x.numel() / columns, kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), columns);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
