// Forward: a block a row for the logsumexp, then target * (log target - log softmax), summed and
// added atomically.
#include <torch/extension.h>

constexpr int kThreads = 64;

template <bool kMax>
__device__ float Reduce(float v, float* scratch) {
  for (int o = 16; o > 0; o >>= 1) {
    const float other = __shfl_xor_sync(0xffffffff, v, o);
    v = kMax ? fmaxf(v, other) : v + other;
  }
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  v = kMax ? fmaxf(scratch[0], scratch[1]) : scratch[0] + scratch[1];
  __syncthreads();
  return v;
}

__global__ void KlLoss(const float* __restrict__ logits, const float* __restrict__ target,
                       float* loss, int width, float inverse_rows) {
  __shared__ float scratch[kThreads / 32];
  const size_t base = (size_t)blockIdx.x * width;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < width; i += kThreads) m = fmaxf(m, logits[base + i]);
  m = Reduce<true>(m, scratch);
  float s = 0;
  for (int i = threadIdx.x; i < width; i += kThreads) s += expf(logits[base + i] - m);
  const float lse = m + logf(Reduce<false>(s, scratch));
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += kThreads) {
    const float t = target[base + i];
    if (t > 0) sum += t * (logf(t) - (logits[base + i] - lse));
  }
  sum = Reduce<false>(sum, scratch);
  if (threadIdx.x == 0) atomicAdd(loss, sum * inverse_rows);
}

torch::Tensor forward(torch::Tensor logits, torch::Tensor target) {
  const int width = logits.size(-1), rows = logits.size(0);
  auto loss = torch::zeros({}, logits.options());
  KlLoss<<<rows, kThreads>>>(logits.data_ptr<float>(), target.data_ptr<float>(),
                             loss.data_ptr<float>(), width, 1.0f / rows);
  return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
