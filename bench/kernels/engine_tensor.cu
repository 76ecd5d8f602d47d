// The kernels of ks_engine_bench that only the virtual GPU's engines run: tensor cores in half
// precision, and float atomics. The same signature as those of engine.cu; inputs are halves where
// the kernel says so.
#include <cuda_fp16.h>

namespace {

__device__ unsigned SharedAddress(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void LoadMatrices(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(SharedAddress(row)));
}

__device__ void LoadMatricesTransposed(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(SharedAddress(row)));
}

__device__ void MultiplyAdd(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ unsigned PackHalves(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

constexpr int kPad = 8;  // halves behind each row of a tile: rows begin in different banks

}  // namespace

// out = a * b, n x n halves. Blocks of 4 warps have 128 x 128 results, warps 64 x 64.
extern "C" __global__ void matmul_tensor(const __half* a, const __half* b, float* out, int n, int) {
  constexpr int kTile = 128, kDepth = 32;
  __shared__ __align__(16) __half tile_a[kTile][kDepth + kPad];
  __shared__ __align__(16) __half tile_b[kDepth][kTile + kPad];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  const int warp_row = warp / 2 * 64, warp_column = warp % 2 * 64;
  float sums[4][8][4] = {};
  for (int k0 = 0; k0 < n; k0 += kDepth) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int e = t + i * 128;  // pieces of 8 halves
      const int row = e / 4, column = e % 4 * 8;
      *reinterpret_cast<uint4*>(&tile_a[row][column]) =
          *reinterpret_cast<const uint4*>(&a[(size_t)(row0 + row) * n + k0 + column]);
      const int depth = e / 16, across = e % 16 * 8;
      *reinterpret_cast<uint4*>(&tile_b[depth][across]) =
          *reinterpret_cast<const uint4*>(&b[(size_t)(k0 + depth) * n + column0 + across]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      unsigned left[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        LoadMatrices(left[i], &tile_a[warp_row + i * 16 + lane % 16][k + lane / 16 * 8]);
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        unsigned right[4];
        LoadMatricesTransposed(
            right, &tile_b[k + lane % 16][warp_column + j * 16 + lane / 16 * 8]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          MultiplyAdd(sums[i][2 * j], left[i], right[0], right[1]);
          MultiplyAdd(sums[i][2 * j + 1], left[i], right[2], right[3]);
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int row = row0 + warp_row + i * 16 + lane / 4;
      const int column = column0 + warp_column + j * 8 + lane % 4 * 2;
      float* place = out + (size_t)row * n + column;
      *reinterpret_cast<float2*>(place) = make_float2(sums[i][j][0], sums[i][j][1]);
      *reinterpret_cast<float2*>(place + 8 * n) = make_float2(sums[i][j][2], sums[i][j][3]);
    }
  }
}

// Attention of `heads` heads of 64 halves: a has the queries of each head, b its keys and, behind
// all keys, the values. Blocks of 4 warps have 64 queries of one head.
extern "C" __global__ void flash_attention(const __half* a, const __half* b, float* out, int length,
                                           int heads) {
  constexpr int kWidth = 64, kTile = 64;
  __shared__ __align__(16) __half keys[kTile][kWidth + kPad];
  __shared__ __align__(16) __half values[kTile][kWidth + kPad];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const size_t head = (size_t)blockIdx.y * length * kWidth;
  const size_t all = (size_t)heads * length * kWidth;
  const int row0 = blockIdx.x * kTile;
  const auto fill = [&](__half (&tile)[kTile][kWidth + kPad], const __half* from) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int e = t + i * 128;
      *reinterpret_cast<uint4*>(&tile[e / 8][e % 8 * 8]) =
          *reinterpret_cast<const uint4*>(&from[e * 8]);
    }
  };
  fill(keys, a + head + (size_t)row0 * kWidth);
  __syncthreads();
  unsigned query[4][4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    LoadMatrices(query[k], &keys[warp * 16 + lane % 16][k * 16 + lane / 16 * 8]);
  }
  __syncthreads();
  float result[8][4] = {};
  float largest[2] = {-3.0e38f, -3.0e38f};
  float total[2] = {0, 0};
  const float scale = 1.4426950408889634f / 8;  // log2(e) / sqrt(64)
  for (int key0 = 0; key0 < length; key0 += kTile) {
    fill(keys, b + head + (size_t)key0 * kWidth);
    fill(values, b + all + head + (size_t)key0 * kWidth);
    __syncthreads();
    float score[8][4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        unsigned right[4];
        LoadMatrices(right, &keys[j * 16 + lane % 8 + lane / 16 * 8][k * 16 + lane / 8 % 2 * 8]);
        MultiplyAdd(score[2 * j], query[k], right[0], right[1]);
        MultiplyAdd(score[2 * j + 1], query[k], right[2], right[3]);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = largest[half];
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        most = fmaxf(most, fmaxf(score[j][2 * half], score[j][2 * half + 1]) * scale);
      }
      most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
      const float shrink = Exp2(largest[half] - most);
      largest[half] = most;
      float sum = 0;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        score[j][2 * half] = Exp2(score[j][2 * half] * scale - most);
        score[j][2 * half + 1] = Exp2(score[j][2 * half + 1] * scale - most);
        sum += score[j][2 * half] + score[j][2 * half + 1];
        result[j][2 * half] *= shrink;
        result[j][2 * half + 1] *= shrink;
      }
      total[half] = total[half] * shrink + sum;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const unsigned weight[4] = {PackHalves(score[2 * k][0], score[2 * k][1]),
                                  PackHalves(score[2 * k][2], score[2 * k][3]),
                                  PackHalves(score[2 * k + 1][0], score[2 * k + 1][1]),
                                  PackHalves(score[2 * k + 1][2], score[2 * k + 1][3])};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        unsigned right[4];
        LoadMatricesTransposed(right, &values[k * 16 + lane % 16][j * 16 + lane / 16 * 8]);
        MultiplyAdd(result[2 * j], weight, right[0], right[1]);
        MultiplyAdd(result[2 * j + 1], weight, right[2], right[3]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = total[half];
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    sum += __shfl_xor_sync(0xffffffff, sum, 2);
    const int row = row0 + warp * 16 + lane / 4 + half * 8;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      float* place = out + head + (size_t)row * kWidth + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(place) =
          make_float2(result[j][2 * half] / sum, result[j][2 * half + 1] / sum);
    }
  }
}

// out[b[i]] += a[i]: float atomics, many at the same place.
extern "C" __global__ void histogram_float(const float* a, const float* b, float* out, int count,
                                           int) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    atomicAdd(&out[(int)b[i]], a[i]);
  }
}

// out += a * b with the sum over k divided among blocks; n x n floats, 8 parts.
extern "C" __global__ void matmul_split_k(const float* a, const float* b, float* out, int n,
                                          int parts) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y / parts;
  const int length = n / parts, first = blockIdx.y % parts * length;
  float sum = 0;
  for (int k = first; k < first + length; ++k) sum += a[row * n + k] * b[k * n + column];
  atomicAdd(&out[row * n + column], sum);
}

// The same with the bins of a block in its shared memory first; at most 1024 bins.
extern "C" __global__ void histogram_shared(const float* a, const float* b, float* out, int count,
                                            int bins) {
  __shared__ float own[1024];
  for (int i = threadIdx.x; i < bins; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    atomicAdd(&own[(int)b[i]], a[i]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd(&out[i], own[i]);
}

// Some arithmetic and shared memory for each thread, in blocks of any size: `steps` rounds.
__device__ void Polynomial(const float* a, const float* b, float* out, int steps) {
  __shared__ float beside[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = a[i];
  float y = b[i];
  for (int k = 0; k < steps; ++k) {
    beside[threadIdx.x] = y;
    __syncthreads();
    y = y * x * 0.5f + beside[threadIdx.x ^ 1] * 0.25f;
    __syncthreads();
  }
  out[i] = y;
}
extern "C" __global__ void blocks_of_16(const float* a, const float* b, float* out, int steps,
                                        int) {
  Polynomial(a, b, out, steps);
}
extern "C" __global__ void blocks_of_32(const float* a, const float* b, float* out, int steps,
                                        int) {
  Polynomial(a, b, out, steps);
}
