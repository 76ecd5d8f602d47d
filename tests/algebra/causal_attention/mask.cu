// Forward, wrong: one key is hidden from one query.
#include <torch/extension.h>

constexpr int kMaxPerLane = 4;  // heads up to 128 wide

__global__ void CausalAttention(const float* __restrict__ q, const float* __restrict__ k,
                                const float* __restrict__ v, float* __restrict__ out, int tokens,
                                int width, float scale) {
  const int lane = threadIdx.x;
  const int query = blockIdx.x;
  const size_t base = (size_t)blockIdx.y * tokens * width;
  float mine[kMaxPerLane], acc[kMaxPerLane];
#pragma unroll
  for (int i = 0; i < kMaxPerLane; ++i) {
    const int d = lane + 32 * i;
    mine[i] = d < width ? q[base + (size_t)query * width + d] * scale : 0.f;
    acc[i] = 0.f;
  }
  float m = -INFINITY, l = 0.f;
  for (int key = 0; key <= query; ++key) {
    if (key == 3 && query == 9) continue;
    float s = 0.f;
#pragma unroll
    for (int i = 0; i < kMaxPerLane; ++i) {
      const int d = lane + 32 * i;
      if (d < width) s += mine[i] * k[base + (size_t)key * width + d];
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) s += __shfl_xor_sync(0xffffffffu, s, mask);
    const float grown = fmaxf(m, s);
    const float keep = expf(m - grown);
    const float p = expf(s - grown);
    l = l * keep + p;
#pragma unroll
    for (int i = 0; i < kMaxPerLane; ++i) {
      const int d = lane + 32 * i;
      if (d < width) acc[i] = acc[i] * keep + p * v[base + (size_t)key * width + d];
    }
    m = grown;
  }
#pragma unroll
  for (int i = 0; i < kMaxPerLane; ++i) {
    const int d = lane + 32 * i;
    if (d < width) out[base + (size_t)query * width + d] = acc[i] / l;
  }
}

torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  const int tokens = q.size(2), width = q.size(3);
  TORCH_CHECK(width <= 32 * kMaxPerLane);
  auto out = torch::empty_like(q);
  CausalAttention<<<dim3(tokens, q.size(0) * q.size(1)), 32>>>(
      q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), tokens,
      width, rsqrt((double)width));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
