// NVCC:
// RUN: %kernelsmith run %x
// Causal attention in tiles with an online softmax: no score matrix is ever stored. Checked against
// the direct formula in double.
#include <cfloat>

#include "../check.h"

constexpr int kHead = 32;  // head dimension
constexpr int kRows = 32;  // queries of a block, one a thread
constexpr int kTile = 16;  // keys of a tile

__global__ void Attention(const float* __restrict__ q, const float* __restrict__ k,
                          const float* __restrict__ v, float* __restrict__ out,
                          float* __restrict__ logsumexp, int length, float scale, bool causal) {
  __shared__ float tile_k[kTile][kHead], tile_v[kTile][kHead];
  const int head = blockIdx.y;
  const size_t base = static_cast<size_t>(head) * length * kHead;
  const int row = blockIdx.x * kRows + threadIdx.x;
  float query[kHead], sum[kHead];
#pragma unroll
  for (int d = 0; d < kHead; ++d) {
    query[d] = row < length ? q[base + row * kHead + d] * scale : 0.0f;
    sum[d] = 0;
  }
  float high = -FLT_MAX, total = 0;
  const int end = causal ? min(length, static_cast<int>(blockIdx.x + 1) * kRows) : length;
  for (int start = 0; start < end; start += kTile) {
    __syncthreads();
    for (int i = threadIdx.x; i < kTile * kHead; i += kRows) {
      const int key = start + i / kHead;
      const bool inside = key < length;
      tile_k[i / kHead][i % kHead] = inside ? k[base + key * kHead + i % kHead] : 0.0f;
      tile_v[i / kHead][i % kHead] = inside ? v[base + key * kHead + i % kHead] : 0.0f;
    }
    __syncthreads();
    float score[kTile], tile_high = high;
#pragma unroll
    for (int j = 0; j < kTile; ++j) {
      float dot = 0;
#pragma unroll
      for (int d = 0; d < kHead; ++d) dot = fmaf(query[d], tile_k[j][d], dot);
      const int key = start + j;
      score[j] = key < length && (!causal || key <= row) ? dot : -FLT_MAX;
      tile_high = fmaxf(tile_high, score[j]);
    }
    const float shrink = __expf(high - tile_high);
    total *= shrink;
#pragma unroll
    for (int d = 0; d < kHead; ++d) sum[d] *= shrink;
    for (int j = 0; j < kTile; ++j) {
      if (score[j] == -FLT_MAX) continue;
      const float weight = __expf(score[j] - tile_high);
      total += weight;
#pragma unroll
      for (int d = 0; d < kHead; ++d) sum[d] = fmaf(weight, tile_v[j][d], sum[d]);
    }
    high = tile_high;
  }
  if (row >= length) return;
#pragma unroll
  for (int d = 0; d < kHead; ++d) out[base + row * kHead + d] = sum[d] / total;
  logsumexp[head * length + row] = high + logf(total);
}

int main() {
  const int heads = 2, length = 75;
  const float scale = 1.0f / std::sqrt(static_cast<float>(kHead));
  Random random(71);
  const size_t size = static_cast<size_t>(heads) * length * kHead;
  const std::vector<float> q = random.Floats(size, -2, 2), k = random.Floats(size, -2, 2),
                           v = random.Floats(size, -1, 1);
  DeviceArray<float> dq(q), dk(k), dv(v), out(size), lse(heads * length);
  for (bool causal : {false, true}) {
    std::vector<double> want(size), want_lse(heads * length);
    for (int h = 0; h < heads; ++h) {
      for (int i = 0; i < length; ++i) {
        std::vector<double> score(length);
        const int end = causal ? i + 1 : length;
        double high = -1e300, total = 0;
        for (int j = 0; j < end; ++j) {
          for (int d = 0; d < kHead; ++d) {
            score[j] += static_cast<double>(q[(h * length + i) * kHead + d]) *
                        k[(h * length + j) * kHead + d];
          }
          score[j] *= scale;
          high = std::max(high, score[j]);
        }
        for (int j = 0; j < end; ++j) total += std::exp(score[j] - high);
        for (int j = 0; j < end; ++j) {
          for (int d = 0; d < kHead; ++d) {
            want[(h * length + i) * kHead + d] +=
                std::exp(score[j] - high) / total * v[(h * length + j) * kHead + d];
          }
        }
        want_lse[h * length + i] = high + std::log(total);
      }
    }
    out.Fill(0xff);
    Attention<<<dim3((length + kRows - 1) / kRows, heads), kRows>>>(
        dq.data(), dk.data(), dv.data(), out.data(), lse.data(), length, scale, causal);
    LAUNCH_OK();
    ExpectNear("out", out.Get(), want, 1e-4, 1e-5);
    ExpectNear("log sum exp", lse.Get(), want_lse, 1e-5, 1e-5);
    std::printf("%s: out[0] = %.6f\n", causal ? "causal" : "full", want[0]);
  }
  return Finish();
}
