// NVCC:
// RUN: %kernelsmith run %x
// Pieces of a language model: embedding lookup and its scatter-add backward, rotary position
// embedding on interleaved pairs, SwiGLU, top-k sampling masks, and int8 row quantisation.
#include "../check.h"

__global__ void Embed(const float4* table, const int* tokens, float4* out, int d4) {
  const int token = tokens[blockIdx.x];
  for (int i = threadIdx.x; i < d4; i += blockDim.x) {
    out[blockIdx.x * d4 + i] = token < 0 ? make_float4(0, 0, 0, 0) : __ldg(&table[token * d4 + i]);
  }
}

__global__ void EmbedBackward(const float* grad, const int* tokens, float* table, int d) {
  const int token = tokens[blockIdx.x];
  if (token < 0) return;
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    atomicAdd(&table[token * d + i], grad[blockIdx.x * d + i]);
}

__global__ void Rope(float2* x, int pairs, float base) {
  const int position = blockIdx.x, pair = threadIdx.x;
  if (pair >= pairs) return;
  const float angle = position * powf(base, -2.0f * pair / (2 * pairs));
  float s, c;
  sincosf(angle, &s, &c);
  const float2 v = x[position * pairs + pair];
  x[position * pairs + pair] = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}

__global__ void SwiGlu(const float* gate, const float* up, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = gate[i] / (1.0f + __expf(-gate[i])) * up[i];
}

// Sets all but the k largest of a row to -inf: k rounds of a block-wide argmax.
__global__ void TopKMask(float* rows, int cols, int k) {
  extern __shared__ unsigned long long keys[];
  __shared__ unsigned long long best;
  float* row = rows + blockIdx.x * cols;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    // Floats in an order that unsigned integers share, with the index below to break ties.
    const unsigned bits = __float_as_uint(row[i]);
    const unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    keys[i] = static_cast<unsigned long long>(ordered) << 32 | (0xffffffffu - i);
  }
  for (int round = 0; round < k; ++round) {
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    unsigned long long mine = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) mine = keys[i] > mine ? keys[i] : mine;
    atomicMax(&best, mine);
    __syncthreads();
    const int winner = static_cast<int>(0xffffffffu - static_cast<unsigned>(best));
    if (winner % blockDim.x == threadIdx.x) keys[winner] = 0;
    __syncthreads();
  }
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    if (keys[i] != 0) row[i] = -INFINITY;
  }
}

__global__ void QuantizeRows(const float* in, signed char* out, float* scales, int cols) {
  float high = 0;
  for (int i = threadIdx.x; i < cols; i += 32) high = fmaxf(high, fabsf(in[blockIdx.x * cols + i]));
  const unsigned bits =
      __reduce_max_sync(~0u, __float_as_uint(high));  // not negative: order of bits
  const float scale = __uint_as_float(bits) / 127.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    out[blockIdx.x * cols + i] =
        static_cast<signed char>(__float2int_rn(in[blockIdx.x * cols + i] / scale));
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

int main() {
  const int vocabulary = 50, d = 24, tokens = 40;
  Random random(111);
  const std::vector<float> table = random.Floats(vocabulary * d, -1, 1);
  std::vector<int> ids = random.Ints(tokens, 0, vocabulary);
  ids[3] = -1;  // padding
  std::vector<float> want(tokens * d, 0.0f), grad(tokens * d), want_grad(table.size(), 0.0f);
  for (float& g : grad) g = random.Below(32) * 0.125f;
  for (int t = 0; t < tokens; ++t) {
    for (int i = 0; i < d && ids[t] >= 0; ++i) {
      want[t * d + i] = table[ids[t] * d + i];
      want_grad[ids[t] * d + i] += grad[t * d + i];
    }
  }
  DeviceArray<float> dtable(table), dout(tokens * d), dgrad(grad), dtable_grad(table.size());
  DeviceArray<int> dids(ids);
  Embed<<<tokens, 32>>>(reinterpret_cast<float4*>(dtable.data()), dids.data(),
                        reinterpret_cast<float4*>(dout.data()), d / 4);
  LAUNCH_OK();
  ExpectEqual("embedding", dout.Get(), want);
  dtable_grad.Fill(0);
  EmbedBackward<<<tokens, 16>>>(dgrad.data(), dids.data(), dtable_grad.data(), d);
  LAUNCH_OK();
  ExpectEqual("embedding backward", dtable_grad.Get(), want_grad);

  std::vector<double> rotated(tokens * d);
  for (int p = 0; p < tokens; ++p) {
    for (int i = 0; i < d / 2; ++i) {
      const double angle = p * std::pow(10000.0, -2.0 * i / d), x = want[p * d + 2 * i],
                   y = want[p * d + 2 * i + 1];
      rotated[p * d + 2 * i] = x * std::cos(angle) - y * std::sin(angle);
      rotated[p * d + 2 * i + 1] = x * std::sin(angle) + y * std::cos(angle);
    }
  }
  Rope<<<tokens, 16>>>(reinterpret_cast<float2*>(dout.data()), d / 2, 10000.0f);
  LAUNCH_OK();
  ExpectNear("rope", dout.Get(), rotated, 0, 2e-5);

  std::vector<double> glu(tokens * d);
  for (int i = 0; i < tokens * d; ++i)
    glu[i] = table[i] / (1 + std::exp(-static_cast<double>(table[i]))) * grad[i];
  DeviceArray<float> dglu(tokens * d);
  SwiGlu<<<(tokens * d + 63) / 64, 64>>>(dtable.data(), dgrad.data(), dglu.data(), tokens * d);
  LAUNCH_OK();
  ExpectNear("swiglu", dglu.Get(), glu, 1e-5, 1e-6);

  const int rows = 4, cols = 200, k = 9;
  std::vector<float> logits(rows * cols), masked;
  for (float& value : logits) value = static_cast<float>(random.Below(60)) - 30;  // with ties
  masked = logits;
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < cols; ++i) {
      int before = 0;  // how many rank ahead of i
      for (int j = 0; j < cols; ++j) {
        const float a = logits[r * cols + j], b = logits[r * cols + i];
        before += a > b || (a == b && j < i);
      }
      if (before >= k) masked[r * cols + i] = -INFINITY;
    }
  }
  DeviceArray<float> dlogits(logits);
  TopKMask<<<rows, 64, cols * sizeof(unsigned long long)>>>(dlogits.data(), cols, k);
  LAUNCH_OK();
  ExpectEqual("top-k", dlogits.Get(), masked);

  std::vector<signed char> quantized(vocabulary * d);
  std::vector<float> scales(vocabulary);
  for (int r = 0; r < vocabulary; ++r) {
    float high = 0;
    for (int i = 0; i < d; ++i) high = std::max(high, std::fabs(table[r * d + i]));
    scales[r] = high / 127.0f;
    for (int i = 0; i < d; ++i)
      quantized[r * d + i] = static_cast<signed char>(std::nearbyint(table[r * d + i] / scales[r]));
  }
  DeviceArray<signed char> dquantized(vocabulary * d);
  DeviceArray<float> dscales(vocabulary);
  QuantizeRows<<<vocabulary, 32>>>(dtable.data(), dquantized.data(), dscales.data(), d);
  LAUNCH_OK();
  ExpectEqual("quantised", dquantized.Get(), quantized);
  ExpectEqual("scales", dscales.Get(), scales);
  std::printf("rope[2] = %.6f, scale[0] = %.6f\n", rotated[2], scales[0]);
  return Finish();
}
