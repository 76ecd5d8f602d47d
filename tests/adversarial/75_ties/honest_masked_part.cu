// Honest: four warps share the keys; a part without a visible key has a sum of zero.
#include <torch/extension.h>

__global__ void Attention(const float* q, const float* k, const float* v, float* out, int tokens,
                          int width, float scale) {
  __shared__ float largest_of[4], sum_of[4], values_of[4][128];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, query = blockIdx.x % tokens;
  const int64_t base = int64_t{blockIdx.x / tokens} * tokens * width;
  const float* mine = q + base + int64_t{query} * width;
  float largest = -INFINITY, sum = 0, values[4] = {};
  for (int begin = 64 * warp; begin < tokens; begin += 256) {
    for (int key = begin; key < min(begin + 64, tokens); ++key) {
      const int64_t at = base + int64_t{key} * width;
      float score = 0;
      for (int i = lane; i < width; i += 32) score += mine[i] * k[at + i];
      for (int d = 16; d > 0; d /= 2) score += __shfl_xor_sync(~0u, score, d);
      score = key <= query ? score * scale : -INFINITY;
      const float grown = fmaxf(largest, score);
      const float by = grown == -INFINITY ? 0.0f : grown;
      const float keep = expf(largest - by), power = expf(score - by);
      sum = sum * keep + power;
      for (int i = 0; i < 4; ++i) {
        if (lane + 32 * i < width) values[i] = values[i] * keep + power * v[at + lane + 32 * i];
      }
      largest = grown;
    }
  }
  for (int i = 0; i < 4; ++i) values_of[warp][lane + 32 * i] = values[i];
  if (lane == 0) largest_of[warp] = largest;
  if (lane == 0) sum_of[warp] = sum;
  __syncthreads();
  for (int w = 0; w < 4; ++w) largest = fmaxf(largest, largest_of[w]);
  for (int i = threadIdx.x; i < width; i += 128) {
    float total = 0, value = 0;
    for (int w = 0; w < 4; ++w) {
      total += expf(largest_of[w] - largest) * sum_of[w];
      value += expf(largest_of[w] - largest) * values_of[w][i];
    }
    out[base + int64_t{query} * width + i] = value / total;
  }
}

torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  const int tokens = q.size(2), width = q.size(3);
  TORCH_CHECK(width <= 128, "heads are up to 128 wide");
  auto out = torch::empty_like(q);
  Attention<<<q.size(0) * q.size(1) * tokens, 128>>>(
      q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), tokens,
      width, rsqrt(static_cast<double>(width)));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
