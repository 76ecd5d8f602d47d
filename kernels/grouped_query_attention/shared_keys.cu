// Forward: a block a query and head; scores in shared memory, masked by causality, key head = head
// / group.
#include <torch/extension.h>

#include <cmath>

constexpr int kThreads = 64;

__global__ void GroupedAttention(const float* __restrict__ q, const float* __restrict__ k,
                                 const float* __restrict__ v, float* __restrict__ out, int heads,
                                 int kv_heads, int tokens, int width, float scale) {
  extern __shared__ float scores[];
  __shared__ float scratch[2];
  const int query = blockIdx.x, head = blockIdx.y, batch = blockIdx.z;
  const int shared_head = head / (heads / kv_heads);
  const float* qr = q + (((size_t)batch * heads + head) * tokens + query) * width;
  const float* kh = k + ((size_t)batch * kv_heads + shared_head) * tokens * width;
  const float* vh = v + ((size_t)batch * kv_heads + shared_head) * tokens * width;

  float m = -INFINITY;
  for (int j = threadIdx.x; j <= query; j += kThreads) {
    float dot = 0;
    for (int d = 0; d < width; ++d) dot = fmaf(qr[d], kh[j * width + d], dot);
    scores[j] = dot * scale;
    m = fmaxf(m, scores[j]);
  }
  for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = m;
  __syncthreads();
  m = fmaxf(scratch[0], scratch[1]);
  __syncthreads();

  float sum = 0;
  for (int j = threadIdx.x; j <= query; j += kThreads) {
    scores[j] = expf(scores[j] - m);
    sum += scores[j];
  }
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = scratch[0] + scratch[1];

  for (int d = threadIdx.x; d < width; d += kThreads) {
    float total = 0;
    for (int j = 0; j <= query; ++j) total += scores[j] * vh[j * width + d];
    out[(((size_t)batch * heads + head) * tokens + query) * width + d] = total / sum;
  }
}

torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  const int batch = q.size(0), heads = q.size(1), tokens = q.size(2), width = q.size(3),
            kv_heads = k.size(1);
  auto out = torch::empty_like(q);
  GroupedAttention<<<dim3(tokens, heads, batch), kThreads, tokens * sizeof(float)>>>(
      q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), heads,
      kv_heads, tokens, width, 1.0f / std::sqrt(static_cast<float>(width)));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
