// Forward: fused attention; a warp a query, keys and values in tiles of 32 in shared memory, online
// softmax across tiles.
#include <torch/extension.h>

constexpr int kTile = 32;
constexpr int kWarps = 4;
constexpr int kMaxWidth = 128;

__global__ void Attention(const float* __restrict__ q, const float* __restrict__ k,
                          const float* __restrict__ v, float* __restrict__ out, int queries,
                          int keys, int width, float scale) {
  extern __shared__ float shared[];
  float* ks = shared;                    // [kTile][width + 1]
  float* vs = ks + kTile * (width + 1);  // [kTile][width]
  float* qs = vs + kTile * width;        // [kWarps][width]
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int tid = warp * 32 + lane;
  const int query = blockIdx.x * kWarps + warp;
  const size_t head = blockIdx.y;
  k += head * keys * width;
  v += head * keys * width;

  for (int d = lane; d < width; d += 32) {
    qs[warp * width + d] = query < queries ? q[(head * queries + query) * width + d] * scale : 0.0f;
  }
  float m = -INFINITY, sum = 0;
  float acc[kMaxWidth / 32] = {};
  for (int k0 = 0; k0 < keys; k0 += kTile) {
    __syncthreads();
    for (int e = tid; e < kTile * width; e += kWarps * 32) {
      const int r = e / width, d = e % width;
      ks[r * (width + 1) + d] = k0 + r < keys ? k[(k0 + r) * width + d] : 0.0f;
      vs[r * width + d] = k0 + r < keys ? v[(k0 + r) * width + d] : 0.0f;
    }
    __syncthreads();
    // Lane r has the score of key k0 + r.
    float score = 0;
    for (int d = 0; d < width; ++d) score += qs[warp * width + d] * ks[lane * (width + 1) + d];
    if (k0 + lane >= keys) score = -INFINITY;
    float tile_max = score;
    for (int o = 16; o > 0; o >>= 1)
      tile_max = fmaxf(tile_max, __shfl_xor_sync(0xffffffff, tile_max, o));
    const float larger = fmaxf(m, tile_max);
    const float rescale = expf(m - larger);
    const float p = expf(score - larger);
    float tile_sum = p;
    for (int o = 16; o > 0; o >>= 1) tile_sum += __shfl_xor_sync(0xffffffff, tile_sum, o);
    sum = sum * rescale + tile_sum;
    m = larger;
#pragma unroll
    for (int i = 0; i < kMaxWidth / 32; ++i) acc[i] *= rescale;
    for (int r = 0; r < kTile; ++r) {
      const float pr = __shfl_sync(0xffffffff, p, r);
#pragma unroll
      for (int i = 0; i < kMaxWidth / 32; ++i) {
        const int d = i * 32 + lane;
        if (d < width) acc[i] += pr * vs[r * width + d];
      }
    }
  }
  if (query >= queries) return;
#pragma unroll
  for (int i = 0; i < kMaxWidth / 32; ++i) {
    const int d = i * 32 + lane;
    if (d < width) out[(head * queries + query) * width + d] = acc[i] / sum;
  }
}

torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  const int heads = q.size(0) * q.size(1), queries = q.size(2), keys = k.size(2), width = q.size(3);
  TORCH_CHECK(width <= kMaxWidth, "heads wider than ", kMaxWidth);
  auto out = torch::empty_like(q);
  const size_t bytes = (kTile * (width + 1) + kTile * width + kWarps * width) * sizeof(float);
  Attention<<<dim3((queries + kWarps - 1) / kWarps, heads), dim3(32, kWarps), bytes>>>(
      q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), queries,
      keys, width, 1.0f / sqrtf(static_cast<float>(width)));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
