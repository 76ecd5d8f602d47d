// Pairs of kernels that do the same, one of them faster on every GPU for a reason that programming
// guides give. PAIR(name) launches slow_name... and fast_name...; order.py compares the sums of their
// estimated times. Only the watched blocks run: this is about time, results are not looked at.
// NVCC: -std=c++17
// RUN: %kernelsmith profile --watched-only --blocks 48 --seed 1 --json -o %t %x
// RUN: %python %S/order.py %t 37 35
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdio>

constexpr int kCount = 1 << 24;  // floats of each buffer: 64 MiB, more than L2 holds
constexpr int kBlock = 256;

__device__ int Index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// ---- access patterns

__global__ void fast_coalesced(const float* a, float* b) { b[Index()] = a[Index()]; }
__global__ void slow_coalesced(const float* a, float* b) {
  const int i = Index();
  const int j = (i & 4095) * 4096 + (i >> 12);  // a column of a 4096 x 4096 matrix
  b[j] = a[j];
}

struct Point {
  float x, y, z, w;
};
__global__ void slow_soa(const Point* a, float* b) { b[Index()] = a[Index()].y; }
__global__ void fast_soa(const float* a, float* b) { b[Index()] = a[Index()]; }

__global__ void slow_vectorised(const float* a, float* b) { b[Index()] = a[Index()] * 2; }
__global__ void fast_vectorised(const float4* a, float4* b) {
  const float4 v = a[Index()];
  b[Index()] = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);
}

__global__ void slow_bytes(const unsigned char* a, unsigned char* b) { b[Index()] = a[Index()] + 1; }
__global__ void fast_bytes(const uint4* a, uint4* b) {
  uint4 v = a[Index()];
  v.x = __vadd4(v.x, 0x01010101), v.y = __vadd4(v.y, 0x01010101);
  v.z = __vadd4(v.z, 0x01010101), v.w = __vadd4(v.w, 0x01010101);
  b[Index()] = v;
}

__global__ void slow_gather(const float* a, const int* unused, float* b) {
  const unsigned i = Index();
  b[i] = a[i * 2654435761u % kCount];
}
__global__ void fast_gather(const float* a, const int* unused, float* b) { b[Index()] = a[Index()]; }

// Sums of the rows of a 4096 x 4096 matrix: a thread a row, or a warp.
__global__ void slow_rows(const float* a, float* b) {
  float sum = 0;
  for (int i = 0; i < 4096; ++i) sum += a[Index() * 4096 + i];
  b[Index()] = sum;
}
__global__ void fast_rows(const float* a, float* b) {
  const int row = Index() / 32;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < 4096; i += 32) sum += a[row * 4096 + i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  if (threadIdx.x % 32 == 0) b[row] = sum;
}

// ---- transposition

__global__ void slow_transpose(const float* a, float* b) {
  const int x = blockIdx.x * 32 + threadIdx.x;
  const int y = blockIdx.y * 32 + threadIdx.y;
  b[x * 4096 + y] = a[y * 4096 + x];
}
template <int kPitch>
__device__ void Transpose(const float* a, float* b) {
  __shared__ float tile[32][kPitch];
  const int x = blockIdx.x * 32;
  const int y = blockIdx.y * 32;
  tile[threadIdx.y][threadIdx.x] = a[(y + threadIdx.y) * 4096 + x + threadIdx.x];
  __syncthreads();
  b[(x + threadIdx.y) * 4096 + y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void fast_transpose(const float* a, float* b) { Transpose<33>(a, b); }
__global__ void slow_padding(const float* a, float* b) { Transpose<32>(a, b); }
__global__ void fast_padding(const float* a, float* b) { Transpose<33>(a, b); }

// ---- shared memory

template <int kStride>
__device__ void Banks(float* b) {
  __shared__ float box[32 * 32 + 32];
  float sum = 0;
  for (int i = 0; i < 64; ++i) {
    box[threadIdx.x % 32 * kStride] = sum + i;
    __syncwarp();
    sum += box[(threadIdx.x + 1) % 32 * kStride];
  }
  b[Index()] = sum;
}
__global__ void slow_two_way(float* b) { Banks<2>(b); }
__global__ void fast_two_way(float* b) { Banks<1>(b); }
__global__ void slow_all_ways(float* b) { Banks<32>(b); }
__global__ void fast_all_ways(float* b) { Banks<33>(b); }

// ---- products of 1024 x 1024

constexpr int kSize = 1024;
__global__ void slow_tiled(const float* a, const float* b, float* c) {
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < kSize; ++k) sum += a[row * kSize + k] * b[k * kSize + column];
  c[row * kSize + column] = sum;
}
template <int kTile, bool kTurned>
__device__ void Product(const float* a, const float* b, float* c) {
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < kSize; k += kTile) {
    left[threadIdx.y][threadIdx.x] = a[row * kSize + k + threadIdx.x];
    if (kTurned) {
      right[threadIdx.x][threadIdx.y] = b[(k + threadIdx.y) * kSize + column];
    } else {
      right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * kSize + column];
    }
    __syncthreads();
    for (int i = 0; i < kTile; ++i) {
      sum += left[threadIdx.y][i] * (kTurned ? right[threadIdx.x][i] : right[i][threadIdx.x]);
    }
    __syncthreads();
  }
  c[row * kSize + column] = sum;
}
__global__ void fast_tiled(const float* a, const float* b, float* c) { Product<32, false>(a, b, c); }
__global__ void slow_tile_banks(const float* a, const float* b, float* c) { Product<32, true>(a, b, c); }
__global__ void fast_tile_banks(const float* a, const float* b, float* c) { Product<32, false>(a, b, c); }

// 64 x 64 a block, 4 x 4 a thread.
__device__ void ProductOf16(const float* a, const float* b, float* c, int from, int to, bool add) {
  __shared__ float left[16][68];
  __shared__ float right[16][64];
  const int tx = threadIdx.x % 16;
  const int ty = threadIdx.x / 16;
  const int row = blockIdx.y * 64;
  const int column = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int k = from; k < to; k += 16) {
    for (int i = threadIdx.x; i < 1024; i += 256) {
      left[i % 16][i / 16] = a[(row + i / 16) * kSize + k + i % 16];
      right[i / 64][i % 64] = b[(k + i / 64) * kSize + column + i % 64];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const float4 x = *reinterpret_cast<const float4*>(&left[i][ty * 4]);
      const float4 y = *reinterpret_cast<const float4*>(&right[i][tx * 4]);
      const float xs[4] = {x.x, x.y, x.z, x.w};
      const float ys[4] = {y.x, y.y, y.z, y.w};
      for (int r = 0; r < 4; ++r) {
        for (int s = 0; s < 4; ++s) sum[r][s] += xs[r] * ys[s];
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < 4; ++r) {
    for (int s = 0; s < 4; ++s) {
      float* to_where = &c[(row + ty * 4 + r) * kSize + column + tx * 4 + s];
      if (add) {
        atomicAdd(to_where, sum[r][s]);
      } else {
        *to_where = sum[r][s];
      }
    }
  }
}
__global__ void slow_registers(const float* a, const float* b, float* c) { Product<32, false>(a, b, c); }
__global__ void fast_registers(const float* a, const float* b, float* c) {
  ProductOf16(a, b, c, 0, kSize, false);
}
// 128 x 128 results: four blocks, or 32 that each add an eighth.
__global__ void slow_split_k(const float* a, const float* b, float* c) {
  ProductOf16(a, b, c, 0, kSize, false);
}
__global__ void fast_split_k(const float* a, const float* b, float* c) {
  ProductOf16(a, b, c, blockIdx.z * (kSize / 8), (blockIdx.z + 1) * (kSize / 8), true);
}

__global__ void slow_tensor(const float* a, const float* b, float* c) {
  ProductOf16(a, b, c, 0, kSize, false);
}
__global__ void fast_tensor(const half* a, const half* b, float* c) {
  using namespace nvcuda;
  const int warp = threadIdx.x / 32;
  const int row = blockIdx.y * 64 + warp % 4 * 16;
  const int column = blockIdx.x * 64 + warp / 4 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2];
  for (auto& each : sum) wmma::fill_fragment(each, 0.0f);
  for (int k = 0; k < kSize; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::load_matrix_sync(x, a + row * kSize + k, kSize);
    for (int i = 0; i < 2; ++i) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
      wmma::load_matrix_sync(y, b + k * kSize + column + i * 16, kSize);
      wmma::mma_sync(sum[i], x, y, sum[i]);
    }
  }
  for (int i = 0; i < 2; ++i) {
    wmma::store_matrix_sync(c + row * kSize + column + i * 16, sum[i], kSize, wmma::mem_row_major);
  }
}

// ---- reductions

__global__ void slow_block_sum(const float* a, float* out) { atomicAdd(out, a[Index()]); }
__device__ float WarpSum(float v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  return v;
}
__device__ void BlockSum(float v, float* out) {
  __shared__ float sums[32];
  v = WarpSum(v);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = WarpSum(threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}
__global__ void fast_block_sum(const float* a, float* out) { BlockSum(a[Index()], out); }

__global__ void slow_interleaved(const float* a, float* out) {
  __shared__ float s[kBlock];
  for (int n = 0; n < 16; ++n) {
    s[threadIdx.x] = a[Index()];
    __syncthreads();
    for (int d = 1; d < kBlock; d *= 2) {
      if (threadIdx.x % (2 * d) == 0) s[threadIdx.x] += s[threadIdx.x + d];
      __syncthreads();
    }
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
__global__ void fast_interleaved(const float* a, float* out) {
  __shared__ float s[kBlock];
  for (int n = 0; n < 16; ++n) {
    s[threadIdx.x] = a[Index()];
    __syncthreads();
    for (int d = kBlock / 2; d > 0; d /= 2) {
      if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
      __syncthreads();
    }
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
__global__ void slow_shuffle(const float* a, float* out) {
  __shared__ float s[kBlock];
  for (int n = 0; n < 16; ++n) {
    s[threadIdx.x] = a[Index()];
    __syncthreads();
    for (int d = kBlock / 2; d > 0; d /= 2) {
      if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
      __syncthreads();
    }
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
__global__ void fast_shuffle(const float* a, float* out) {
  for (int n = 0; n < 16; ++n) {
    float v = a[Index()];
    __shared__ float sums[32];
    v = WarpSum(v);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
      v = WarpSum(threadIdx.x < kBlock / 32 ? sums[threadIdx.x] : 0);
      if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
    __syncthreads();
  }
}

// ---- atomics

__global__ void slow_histogram(const unsigned* a, unsigned* bins) {
  for (int i = 0; i < 16; ++i) atomicAdd(&bins[a[Index() * 16 + i] & 15], 1u);
}
__global__ void fast_histogram(const unsigned* a, unsigned* bins) {
  __shared__ unsigned own[8][16];
  if (threadIdx.x < 128) own[threadIdx.x / 16][threadIdx.x % 16] = 0;
  __syncthreads();
  for (int i = 0; i < 16; ++i) atomicAdd(&own[threadIdx.x / 32][a[Index() * 16 + i] & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) {
    unsigned sum = 0;
    for (int i = 0; i < 8; ++i) sum += own[i][threadIdx.x];
    atomicAdd(&bins[threadIdx.x], sum);
  }
}
__global__ void slow_spread_atomics(int* out) { atomicAdd(&out[threadIdx.x & 1], 1); }
__global__ void fast_spread_atomics(int* out) { atomicAdd(&out[Index()], 1); }

// ---- fusion

__global__ void slow_fused_1(const float* a, const float* b, float* c) { c[Index()] = a[Index()] + b[Index()]; }
__global__ void slow_fused_2(const float* c, float* d) { d[Index()] = fmaxf(c[Index()], 0); }
__global__ void fast_fused(const float* a, const float* b, float* d) {
  d[Index()] = fmaxf(a[Index()] + b[Index()], 0);
}

// Softmax of rows of 1024, a block a row.
__device__ float BlockMax(float v) {
  __shared__ float all[32];
  for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d));
  if (threadIdx.x % 32 == 0) all[threadIdx.x / 32] = v;
  __syncthreads();
  v = all[threadIdx.x % 8];
  for (int d = 4; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d));
  return v;
}
__device__ float BlockTotal(float v) {
  __shared__ float all[32];
  v = WarpSum(v);
  if (threadIdx.x % 32 == 0) all[threadIdx.x / 32] = v;
  __syncthreads();
  v = all[threadIdx.x % 8];
  for (int d = 4; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  return v;
}
__global__ void slow_softmax_1(const float* a, float* most) {
  float v = -1e30f;
  for (int i = 0; i < 4; ++i) v = fmaxf(v, a[blockIdx.x * 1024 + i * 256 + threadIdx.x]);
  v = BlockMax(v);
  if (threadIdx.x == 0) most[blockIdx.x] = v;
}
__global__ void slow_softmax_2(const float* a, const float* most, float* b, float* sums) {
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    const int at = blockIdx.x * 1024 + i * 256 + threadIdx.x;
    const float v = __expf(a[at] - most[blockIdx.x]);
    b[at] = v;
    sum += v;
  }
  sum = BlockTotal(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
__global__ void slow_softmax_3(float* b, const float* sums) {
  for (int i = 0; i < 4; ++i) b[blockIdx.x * 1024 + i * 256 + threadIdx.x] /= sums[blockIdx.x];
}
__global__ void fast_softmax(const float* a, float* b) {
  float v[4];
  float most = -1e30f;
  for (int i = 0; i < 4; ++i) {
    v[i] = a[blockIdx.x * 1024 + i * 256 + threadIdx.x];
    most = fmaxf(most, v[i]);
  }
  most = BlockMax(most);
  float sum = 0;
  for (float& each : v) sum += each = __expf(each - most);
  sum = BlockTotal(sum);
  for (int i = 0; i < 4; ++i) b[blockIdx.x * 1024 + i * 256 + threadIdx.x] = v[i] / sum;
}
// Mean and variance: three passes over memory, or one into registers.
__global__ void slow_one_pass(const float* a, float* b) {
  const float* row = a + blockIdx.x * 16384;
  float sum = 0;
  for (int i = threadIdx.x; i < 16384; i += kBlock) sum += row[i];
  const float mean = BlockTotal(sum) / 16384;
  __syncthreads();
  float squares = 0;
  for (int i = threadIdx.x; i < 16384; i += kBlock) squares += (row[i] - mean) * (row[i] - mean);
  const float scale = rsqrtf(BlockTotal(squares) / 16384);
  for (int i = threadIdx.x; i < 16384; i += kBlock) b[blockIdx.x * 16384 + i] = (row[i] - mean) * scale;
}
__global__ void fast_one_pass(const float* a, float* b) {
  const float4* row = reinterpret_cast<const float4*>(a + blockIdx.x * 16384);
  float4 v[16];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) v[i] = row[i * kBlock + threadIdx.x];
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += v[i].x + v[i].y + v[i].z + v[i].w;
  const float mean = BlockTotal(sum) / 16384;
  __syncthreads();
  float squares = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    squares += (v[i].x - mean) * (v[i].x - mean) + (v[i].y - mean) * (v[i].y - mean) +
               (v[i].z - mean) * (v[i].z - mean) + (v[i].w - mean) * (v[i].w - mean);
  }
  const float scale = rsqrtf(BlockTotal(squares) / 16384);
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    reinterpret_cast<float4*>(b + blockIdx.x * 16384)[i * kBlock + threadIdx.x] =
        make_float4((v[i].x - mean) * scale, (v[i].y - mean) * scale, (v[i].z - mean) * scale,
                    (v[i].w - mean) * scale);
  }
}

// ---- occupancy and latency

// A chain of loads, each of which depends on the one before.
__device__ void Chase(const int* a, int* b) {
  int at = Index();
  for (int i = 0; i < 32; ++i) at = (a[at] + at + 977) & (kCount - 1);
  b[Index()] = at;
}
extern __shared__ float dynamic_shared[];
__global__ void slow_shared_cliff(const int* a, int* b) {
  if (a == nullptr) dynamic_shared[threadIdx.x] = 0;
  Chase(a, b);
}
__global__ void fast_shared_cliff(const int* a, int* b) { Chase(a, b); }
__global__ void slow_small_blocks(const int* a, int* b) { Chase(a, b); }
__global__ void fast_small_blocks(const int* a, int* b) { Chase(a, b); }

// 64 values a thread: kept in 40 registers they spill.
__device__ void Many(const float* a, float* b) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] = a[Index() + i * 1024];
#pragma unroll
  for (int n = 0; n < 4; ++n) {
#pragma unroll
    for (int i = 0; i < 64; ++i) v[i] = v[i] * v[(i + 17) % 64] + v[(i + 31) % 64];
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) sum += v[i];
  b[Index()] = sum;
}
__global__ void __launch_bounds__(1024, 2) slow_spills(const float* a, float* b) { Many(a, b); }
__global__ void __launch_bounds__(256) fast_spills(const float* a, float* b) { Many(a, b); }

__global__ void slow_more_blocks(const float* a, float* b) {
  for (int i = threadIdx.x; i < 1 << 20; i += blockDim.x) b[i] = a[i] * 2;
}
__global__ void fast_more_blocks(const float* a, float* b) { b[Index()] = a[Index()] * 2; }

__device__ float Work(float v, int rounds) {
  for (int i = 0; i < rounds; ++i) v = v * 1.0001f + 0.5f;
  return v;
}
__global__ void slow_fill_the_gpu(const float* a, float* b) {
  for (int n = 0; n < 8; ++n) b[Index() * 8 + n] = Work(a[Index() * 8 + n], 512);
}
__global__ void fast_fill_the_gpu(const float* a, float* b) { b[Index()] = Work(a[Index()], 512); }

__global__ void slow_loads_in_flight(const float* a, float* b) {
  float sum = 0;
  for (int i = 0; i < 64; ++i) {
    const float v = a[(Index() + i * 65536) & (kCount - 1)];
    sum = fmaxf(sum, v) * 0.5f;
    __syncwarp();
  }
  b[Index()] = sum;
}
__global__ void fast_loads_in_flight(const float* a, float* b) {
  float sum = 0;
  for (int i = 0; i < 64; i += 16) {
    float v[16];
#pragma unroll
    for (int k = 0; k < 16; ++k) v[k] = a[(Index() + (i + k) * 65536) & (kCount - 1)];
#pragma unroll
    for (int k = 0; k < 16; ++k) sum = fmaxf(sum, v[k]) * 0.5f;
  }
  b[Index()] = sum;
}

// ---- instructions

__global__ void slow_divergence(const float* a, float* b) {
  const float v = a[Index()];
  b[Index()] = threadIdx.x % 2 == 0 ? Work(v, 512) : Work(v + 1, 500);
}
__global__ void fast_divergence(const float* a, float* b) {
  const float v = a[Index()];
  b[Index()] = threadIdx.x / 32 % 2 == 0 ? Work(v, 512) : Work(v + 1, 500);
}
__global__ void slow_precision(const float* a, float* b) {
  double v = a[Index()];
  for (int i = 0; i < 256; ++i) v = v * 1.0001 + 0.5;
  b[Index()] = static_cast<float>(v);
}
__global__ void fast_precision(const float* a, float* b) { b[Index()] = Work(a[Index()], 256); }
__global__ void slow_division(const unsigned* a, unsigned* b, unsigned n) {
  unsigned v = a[Index()];
  for (int i = 0; i < 64; ++i) v = v / n + i;
  b[Index()] = v;
}
__global__ void fast_division(const unsigned* a, unsigned* b, unsigned n) {
  unsigned v = a[Index()];
  for (int i = 0; i < 64; ++i) v = (v >> n) + i;
  b[Index()] = v;
}
__global__ void slow_power(const float* a, float* b) {
  float v = a[Index()];
  for (int i = 0; i < 16; ++i) v = powf(v, 3.01f) * 0.5f;
  b[Index()] = v;
}
__global__ void fast_power(const float* a, float* b) {
  float v = a[Index()];
  for (int i = 0; i < 16; ++i) v = v * v * v * 0.5f;
  b[Index()] = v;
}
__global__ void slow_special(const float* a, float* b) {
  float v = a[Index()];
  for (int i = 0; i < 128; ++i) v = __sinf(v);
  b[Index()] = v;
}
__global__ void fast_special(const float* a, float* b) { b[Index()] = Work(a[Index()], 128); }
__global__ void slow_local_array(const float* a, float* b, int n) {
  float v[32];
  for (int i = 0; i < 32; ++i) v[i] = a[Index()] + i;
  for (int i = 0; i < 64; ++i) v[(i * n) & 31] += v[(i + n) & 31];
  b[Index()] = v[n & 31];
}
__global__ void fast_local_array(const float* a, float* b, int) {
  float v[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) v[i] = a[Index()] + i;
#pragma unroll
  for (int i = 0; i < 64; ++i) v[(i * 3) & 31] += v[(i + 3) & 31];
  b[Index()] = v[3];
}
__global__ void slow_barriers(const float* a, float* b) {
  float v = a[Index()];
  for (int i = 0; i < 256; ++i) {
    v = v * 1.0001f + 0.5f;
    __syncthreads();
  }
  b[Index()] = v;
}
__global__ void fast_barriers(const float* a, float* b) { b[Index()] = Work(a[Index()], 256); }

// Copies that arrive while the slice before is worked on, or are waited for at once.
template <int kStages>
__device__ void SumSlices(const float4* a, float* b) {
  constexpr int kSlices = 64;
  __shared__ float4 slices[kStages][kBlock];
  const float4* from = a + blockIdx.x * kSlices * kBlock + threadIdx.x;
  float sum = 0;
  for (int slice = 1 - kStages; slice < kSlices; ++slice) {
    const int next = slice + kStages - 1;
    if (next < kSlices) {
      __pipeline_memcpy_async(&slices[next % kStages][threadIdx.x], from + next * kBlock, sizeof(float4));
    }
    __pipeline_commit();
    if (slice < 0) continue;
    __pipeline_wait_prior(kStages - 1);
    __syncthreads();
    for (int i = 0; i < 16; ++i) {
      const float4 v = slices[slice % kStages][(threadIdx.x + i) % kBlock];
      sum += v.x * v.y + v.z * v.w;
    }
    __syncthreads();
  }
  b[blockIdx.x * kBlock + threadIdx.x] = sum;
}
__global__ void slow_stages(const float4* a, float* b) { SumSlices<1>(a, b); }
__global__ void fast_stages(const float4* a, float* b) { SumSlices<2>(a, b); }

#define PAIR(name, slow_shape, slow_arguments, fast_shape, fast_arguments) \
  slow_##name<<<UNPACK slow_shape>>> slow_arguments;                       \
  fast_##name<<<UNPACK fast_shape>>> fast_arguments;
#define UNPACK(...) __VA_ARGS__

int main() {
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  for (float** each : {&a, &b, &c}) {
    if (cudaMalloc(each, sizeof(float) * kCount) != cudaSuccess) return 1;
  }
  auto* ia = reinterpret_cast<int*>(a);
  auto* ib = reinterpret_cast<int*>(b);
  auto* ua = reinterpret_cast<unsigned*>(a);
  auto* ub = reinterpret_cast<unsigned*>(b);
  const int all = kCount / kBlock;
  PAIR(coalesced, (all, kBlock), (a, b), (all, kBlock), (a, b))
  PAIR(soa, (all / 4, kBlock), (reinterpret_cast<Point*>(a), b), (all / 4, kBlock), (a, b))
  PAIR(vectorised, (all, kBlock), (a, b), (all / 4, kBlock),
       (reinterpret_cast<float4*>(a), reinterpret_cast<float4*>(b)))
  PAIR(bytes, (all * 4, kBlock), (reinterpret_cast<unsigned char*>(a), reinterpret_cast<unsigned char*>(b)),
       (all / 4, kBlock), (reinterpret_cast<uint4*>(a), reinterpret_cast<uint4*>(b)))
  PAIR(gather, (all, kBlock), (a, ia, b), (all, kBlock), (a, ia, b))
  PAIR(rows, (16, kBlock), (a, b), (512, kBlock), (a, b))
  PAIR(transpose, (dim3(128, 128), dim3(32, 32)), (a, b), (dim3(128, 128), dim3(32, 32)), (a, b))
  PAIR(padding, (dim3(128, 128), dim3(32, 32)), (a, b), (dim3(128, 128), dim3(32, 32)), (a, b))
  PAIR(two_way, (1024, 32), (b), (1024, 32), (b))
  PAIR(all_ways, (1024, 32), (b), (1024, 32), (b))
  PAIR(tiled, (dim3(64, 64), dim3(16, 16)), (a, b, c), (dim3(32, 32), dim3(32, 32)), (a, b, c))
  PAIR(tile_banks, (dim3(32, 32), dim3(32, 32)), (a, b, c), (dim3(32, 32), dim3(32, 32)), (a, b, c))
  PAIR(registers, (dim3(32, 32), dim3(32, 32)), (a, b, c), (dim3(16, 16), 256), (a, b, c))
  PAIR(split_k, (dim3(2, 2), 256), (a, b, c), (dim3(2, 2, 8), 256), (a, b, c))
  PAIR(tensor, (dim3(16, 16), 256), (a, b, c), (dim3(16, 16), 256),
       (reinterpret_cast<half*>(a), reinterpret_cast<half*>(b), c))
  PAIR(block_sum, (all, kBlock), (a, b), (all, kBlock), (a, b))
  PAIR(interleaved, (4096, kBlock), (a, b), (4096, kBlock), (a, b))
  PAIR(shuffle, (4096, kBlock), (a, b), (4096, kBlock), (a, b))
  PAIR(histogram, (4096, kBlock), (ua, ub), (4096, kBlock), (ua, ub))
  PAIR(spread_atomics, (4096, kBlock), (ib), (4096, kBlock), (ib))
  slow_fused_1<<<all, kBlock>>>(a, b, c);
  slow_fused_2<<<all, kBlock>>>(c, a);
  fast_fused<<<all, kBlock>>>(a, b, c);
  slow_softmax_1<<<16384, kBlock>>>(a, c);
  slow_softmax_2<<<16384, kBlock>>>(a, c, b, c);
  slow_softmax_3<<<16384, kBlock>>>(b, c);
  fast_softmax<<<16384, kBlock>>>(a, b);
  PAIR(one_pass, (1024, kBlock), (a, b), (1024, kBlock), (a, b))
  if (cudaFuncSetAttribute(slow_shared_cliff, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10) !=
      cudaSuccess) {
    return 1;
  }
  PAIR(shared_cliff, (8192, 128, 200 << 10), (ia, ib), (8192, 128), (ia, ib))
  PAIR(small_blocks, (32768, 32), (ia, ib), (4096, 256), (ia, ib))
  PAIR(spills, (512, 1024), (a, b), (2048, 256), (a, b))
  PAIR(more_blocks, (1, 1024), (a, b), (4096, kBlock), (a, b))
  PAIR(fill_the_gpu, (16, kBlock), (a, b), (128, kBlock), (a, b))
  PAIR(loads_in_flight, (256, 128), (a, b), (256, 128), (a, b))
  PAIR(stages, (32, kBlock), (reinterpret_cast<float4*>(a), b), (32, kBlock),
       (reinterpret_cast<float4*>(a), b))
  PAIR(divergence, (4096, kBlock), (a, b), (4096, kBlock), (a, b))
  PAIR(precision, (4096, kBlock), (a, b), (4096, kBlock), (a, b))
  PAIR(division, (4096, kBlock), (ua, ub, 7), (4096, kBlock), (ua, ub, 3))
  PAIR(power, (4096, kBlock), (a, b), (4096, kBlock), (a, b))
  PAIR(special, (4096, kBlock), (a, b), (4096, kBlock), (a, b))
  PAIR(local_array, (4096, kBlock), (a, b, 3), (4096, kBlock), (a, b, 3))
  PAIR(barriers, (4096, kBlock), (a, b), (4096, kBlock), (a, b))
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
