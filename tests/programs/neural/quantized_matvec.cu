// NVCC:
// RUN: %kernelsmith run %x
// Quantised weights as language models use them: blocks of 32 four-bit and eight-bit weights with
// half scales, a matrix-vector product by dp4a and by half2, and greedy decoding of the largest
// logit.
#include <cuda_fp16.h>

#include "../check.h"

constexpr int kBlock = 32;

struct Q4 {
  half scale;
  unsigned char nibbles[kBlock / 2];  // element i in the low nibble, element i + 16 in the high one
};
struct Q8 {
  half scale;
  signed char values[kBlock];
};
static_assert(sizeof(Q4) == 18 && sizeof(Q8) == 34, "packed as stored");

__global__ void QuantizeVector(const float* x, Q8* out, int blocks) {
  const int block = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (block >= blocks) return;
  const float value = x[block * kBlock + lane];
  float high = fabsf(value);
  for (int o = 16; o > 0; o /= 2) high = fmaxf(high, __shfl_xor_sync(~0u, high, o));
  const float scale = high / 127.0f;
  out[block].values[lane] = high == 0 ? 0 : static_cast<signed char>(roundf(value / scale));
  if (lane == 0) out[block].scale = __float2half(scale);
}

// Reads four bytes that need not be aligned to four.
__device__ int LoadInt(const void* base, int index) {
  const unsigned short* p = static_cast<const unsigned short*>(base) + 2 * index;
  return p[0] | p[1] << 16;
}

// One warp a row; each lane takes whole blocks.
__global__ void MatVecDp4a(const Q4* w, const Q8* x, float* y, int rows, int blocks) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0;
  for (int b = threadIdx.x; b < blocks; b += 32) {
    const Q4& weights = w[row * blocks + b];
    int dot = 0, total = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int packed = LoadInt(weights.nibbles, i);
      const int low = LoadInt(x[b].values, i), high = LoadInt(x[b].values, i + 4);
      dot = __dp4a(packed & 0x0f0f0f0f, low, dot);
      dot = __dp4a(packed >> 4 & 0x0f0f0f0f, high, dot);
      total = __dp4a(0x01010101, low, total);
      total = __dp4a(0x01010101, high, total);
    }
    // The nibbles stand for -8 .. 7.
    sum += __half2float(weights.scale) * __half2float(x[b].scale) * (dot - 8 * total);
  }
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[row] = sum;
}

__global__ void Argmax(const float* y, int n, int* out) {
  __shared__ unsigned long long best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    unsigned bits = __float_as_uint(y[i]);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    atomicMax(&best, static_cast<unsigned long long>(bits) << 32 | (~0u - i));
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = static_cast<int>(~0u - static_cast<unsigned>(best));
}

int main() {
  const int rows = 50, blocks = 40, n = blocks * kBlock;
  Random random(571);
  std::vector<Q4> w(rows * blocks);
  for (Q4& q : w) {
    q.scale = __float2half(random.Float(0.01f, 0.1f));
    for (unsigned char& byte : q.nibbles) byte = static_cast<unsigned char>(random.Bits());
  }
  const std::vector<float> x = random.Floats(n, -2, 2);
  std::vector<signed char> want_values(n);
  std::vector<double> scales(blocks), want(rows);
  for (int b = 0; b < blocks; ++b) {
    float high = 0;
    for (int i = 0; i < kBlock; ++i) high = std::max(high, std::fabs(x[b * kBlock + i]));
    const float scale = high / 127.0f;
    scales[b] = __half2float(__float2half(scale));
    for (int i = 0; i < kBlock; ++i)
      want_values[b * kBlock + i] = static_cast<signed char>(roundf(x[b * kBlock + i] / scale));
  }
  int best = 0;
  for (int r = 0; r < rows; ++r) {
    for (int b = 0; b < blocks; ++b) {
      int dot = 0;
      for (int i = 0; i < kBlock; ++i) {
        const unsigned char byte = w[r * blocks + b].nibbles[i % 16];
        dot += ((i < 16 ? byte & 15 : byte >> 4) - 8) * want_values[b * kBlock + i];
      }
      want[r] += static_cast<double>(__half2float(w[r * blocks + b].scale)) * scales[b] * dot;
    }
    if (want[r] > want[best]) best = r;
  }
  DeviceArray<Q4> dw(w);
  DeviceArray<float> dx(x), dy(rows);
  DeviceArray<Q8> dq(blocks);
  DeviceArray<int> winner(1);
  QuantizeVector<<<(blocks + 3) / 4, 128>>>(dx.data(), dq.data(), blocks);
  MatVecDp4a<<<(rows + 3) / 4, dim3(32, 4)>>>(dw.data(), dq.data(), dy.data(), rows, blocks);
  Argmax<<<1, 64>>>(dy.data(), rows, winner.data());
  LAUNCH_OK();
  std::vector<signed char> got_values;
  for (const Q8& q : dq.Get()) got_values.insert(got_values.end(), q.values, q.values + kBlock);
  ExpectEqual("quantised", got_values, want_values);
  ExpectNear("product", dy.Get(), want, 1e-5, 1e-3);
  ExpectEqual("winner", winner.Get()[0], best);
  std::printf("y[0] = %.4f, row %d wins\n", want[0], best);
  return Finish();
}
