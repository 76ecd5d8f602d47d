// Forward: Welford's running mean and squared distance in each thread, merged by shuffles and once
// more in shared memory.
#include <torch/extension.h>

constexpr int kThreads = 256;

struct Moments {
  float mean = 0;
  float m2 = 0;
  float count = 0;
};

__device__ Moments Combine(const Moments& a, const Moments& b) {
  const float count = a.count + b.count;
  if (count == 0) return a;
  const float delta = b.mean - a.mean;
  const float share = b.count / count;
  return {a.mean + delta * share, a.m2 + b.m2 + delta * delta * a.count * share, count};
}

__device__ Moments WarpCombine(Moments m) {
  for (int offset = 16; offset > 0; offset >>= 1) {
    Moments other;
    other.mean = __shfl_xor_sync(0xffffffff, m.mean, offset);
    other.m2 = __shfl_xor_sync(0xffffffff, m.m2, offset);
    other.count = __shfl_xor_sync(0xffffffff, m.count, offset);
    m = Combine(m, other);
  }
  return m;
}

__global__ void LayerNorm(const float* __restrict__ x, const float* __restrict__ weight,
                          const float* __restrict__ bias, float* __restrict__ y, int size,
                          float eps) {
  __shared__ float means[kThreads / 32], m2s[kThreads / 32], counts[kThreads / 32];
  x += (size_t)blockIdx.x * size;
  y += (size_t)blockIdx.x * size;

  Moments m;
  for (int i = threadIdx.x; i < size; i += kThreads) {
    m.count += 1;
    const float delta = x[i] - m.mean;
    m.mean += delta / m.count;
    m.m2 += delta * (x[i] - m.mean);
  }
  m = WarpCombine(m);
  const int lane = threadIdx.x % 32;
  if (lane == 0) {
    means[threadIdx.x / 32] = m.mean;
    m2s[threadIdx.x / 32] = m.m2;
    counts[threadIdx.x / 32] = m.count;
  }
  __syncthreads();
  m = Moments();
  if (lane < kThreads / 32) m = {means[lane], m2s[lane], counts[lane]};
  m = WarpCombine(m);

  const float scale = rsqrtf(m.m2 / size + eps);
  for (int i = threadIdx.x; i < size; i += kThreads)
    y[i] = (x[i] - m.mean) * scale * weight[i] + bias[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
  auto y = torch::empty_like(x);
  const int size = weight.numel();
  LayerNorm<<<x.numel() / size, kThreads>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                            bias.data_ptr<float>(), y.data_ptr<float>(), size,
                                            static_cast<float>(eps));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
