// The slips that people and models make most when they write kernels, beside their corrected twins.
// `habits NAME bad|good`.
// NVCC: -g -lineinfo -std=c++17 -diag-suppress 20054
// RUN: %python %S/run_cases.py %kernelsmith %x %s
// OUT:
// | {{([0-9]+) of \1 pairs right}}
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <cstdio>
#include <cstring>
#include <cuda/barrier>

#include "cases.h"

namespace cg = cooperative_groups;

template <typename T>
void ToHost(const T* device, size_t count) {
  T* host = new T[count];
  cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost);
  delete[] host;
}

// Calls a kernel's bad or good version.
#define LAUNCH(kernel, blocks, threads, ...)         \
  if (bad) {                                         \
    kernel<true><<<blocks, threads>>>(__VA_ARGS__);  \
  } else {                                           \
    kernel<false><<<blocks, threads>>>(__VA_ARGS__); \
  }

// A running maximum that one thread updates and all use.
template <bool kBad>
__global__ void RunningMax(const float* in, float* out, int tiles) {
  __shared__ float m;
  __shared__ float tile[64];
  if (threadIdx.x == 0) m = -1e30f;
  __syncthreads();
  float acc = 0;
  for (int t = 0; t < tiles; ++t) {
    tile[threadIdx.x] = in[t * 64 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      float x = m;
      for (int i = 0; i < 64; ++i) x = fmaxf(x, tile[i]);
      m = x;  // EXPECT: running_max race
    }
    if (!kBad) __syncthreads();
    acc += tile[threadIdx.x] - m;  // EXPECT: running_max race
    __syncthreads();
  }
  out[threadIdx.x] = acc;
}
CASE(running_max) {
  DeviceArray<float> in(256), out(64);
  LAUNCH(RunningMax, 1, 64, in.data, out.data, 4)
}

// The last stage of a pipeline is not waited for.
template <bool kBad>
__global__ void PipeStages(const float* in, float* out, int n) {
  __shared__ float buf[2][64];
  float sum = 0;
  __pipeline_memcpy_async(&buf[0][threadIdx.x], &in[threadIdx.x], 4);
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n) {
      __pipeline_memcpy_async(&buf[(i + 1) & 1][threadIdx.x], &in[(i + 1) * 64 + threadIdx.x],
                              4);  // EXPECT: pipe_stages async_hazard
      __pipeline_commit();
      __pipeline_wait_prior(1);
    } else if (!kBad) {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    sum += buf[i & 1][63 - threadIdx.x];  // EXPECT: pipe_stages async_hazard
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
CASE(pipe_stages) {
  DeviceArray<float> in(256), out(64);
  LAUNCH(PipeStages, 1, 64, in.data, out.data, 4)
}

// A stencil in place.
template <bool kBad>
__global__ void Blur(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) {
    const float* src = kBad ? out : in;
    out[i] = 0.5f * (src[i - 1] + src[i + 1]);  // EXPECT: in_place race
  }
}
CASE(in_place) {
  DeviceArray<float> in(512), out(512);
  LAUNCH(Blur, 4, 128, in.data, out.data, 512)
}

// The threads behind the end leave before the barrier, and their part of the tile is never written.
template <bool kBad>
__global__ void TailReturn(const float* in, float* out, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (kBad && i >= n) return;
  s[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();                          // EXPECT: tail_return barrier_divergence
  if (i < n) out[i] = s[63 - threadIdx.x];  // EXPECT: tail_return uninitialized_read
}
CASE(tail_return) {
  DeviceArray<float> in(100), out(100);
  LAUNCH(TailReturn, 2, 64, in.data, out.data, 100) ToHost(out.data, 100);
}

// A block of one warp and a half, all lanes in the mask.
template <bool kBad>
__global__ void Odd(const float* in, float* out) {
  float x = in[threadIdx.x];
  const unsigned mask = kBad ? 0xffffffffu : (threadIdx.x < 32 ? 0xffffffffu : 0xffffu);
  for (int d = kBad ? 16 : (threadIdx.x < 32 ? 16 : 8); d > 0; d /= 2)
    x += __shfl_down_sync(mask, x, d);  // EXPECT: odd_block shuffle_mask
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = x;
}
CASE(odd_block) {
  DeviceArray<float> in(48), out(2);
  LAUNCH(Odd, 1, 48, in.data, out.data)
}

// A loop with a barrier that half of the warps go through once more.
template <bool kBad>
__global__ void WarpCond(const int* in, int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int times = kBad && threadIdx.x >= 64 ? 3 : 2;
  for (int i = 0; i < times; ++i) {
    s[threadIdx.x] += 1;
    __syncthreads();  // EXPECT: warp_loop barrier_divergence
  }
  out[threadIdx.x] = s[threadIdx.x];
}
CASE(warp_loop) {
  DeviceArray<int> in(128), out(128);
  LAUNCH(WarpCond, 1, 128, in.data, out.data)
}

// Arrived, but not waited.
template <bool kBad>
__global__ void ArriveOnly(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[64];
  if (threadIdx.x == 0) init(&bar, 64);
  __syncthreads();
  s[threadIdx.x] = threadIdx.x;  // EXPECT: arrive_only race
  auto token = bar.arrive();
  if (!kBad) bar.wait(std::move(token));
  out[threadIdx.x] = s[63 - threadIdx.x];  // EXPECT: arrive_only race
}
CASE(arrive_only) {
  DeviceArray<int> out(64);
  LAUNCH(ArriveOnly, 1, 64, out.data)
}

// The last block adds up what the others wrote, without fences.
__device__ unsigned g_count;
template <bool kBad>
__global__ void LastBlock(const float* in, float* part, float* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = in[blockIdx.x];  // EXPECT: last_block race
    if (!kBad) __threadfence();
    last = atomicAdd(&g_count, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    if (!kBad) __threadfence();
    float s = 0;
    for (int i = 0; i < gridDim.x; ++i) s += part[i];  // EXPECT: last_block race
    *out = s;
    g_count = 0;
  }
}
CASE(last_block) {
  DeviceArray<float> in(8), part(8), out(1);
  LAUNCH(LastBlock, 8, 32, in.data, part.data, out.data)
}

// Accumulators that start with whatever is there.
template <bool kBad>
__global__ void Acc(const float* in, float* out, int n) {
  float acc[4];
  if (!kBad)
    for (int i = 0; i < 4; ++i) acc[i] = 0;
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 4; ++i)
      acc[i] += in[k * 4 + i] * threadIdx.x;  // EXPECT: accumulators uninitialized_read
  for (int i = 0; i < 4; ++i)
    out[threadIdx.x * 4 + i] = acc[i];  // EXPECT: accumulators uninitialized_read
}
CASE(accumulators) {
  DeviceArray<float> in(64), out(128);
  LAUNCH(Acc, 1, 32, in.data, out.data, 16) ToHost(out.data, 128);
}

// A flag says that the data are there, and nothing orders them.
template <bool kBad>
__global__ void Handoff(int* data, volatile int* flag, int* out) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      data[0] = 42;  // EXPECT: handoff race
      if (!kBad) __threadfence();
      *flag = 1;
    }
  }
  else if (threadIdx.x == 0) {
    while (*flag == 0) {
    }
    if (!kBad) __threadfence();
    out[0] = data[0];  // EXPECT: handoff race
  }
}
CASE(handoff) {
  DeviceArray<int> data(1), flag(1), out(1);
  LAUNCH(Handoff, 2, 32, data.data, flag.data, out.data)
}

// Shared memory for 128 threads, launched with 256.
__global__ void Fixed(float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = threadIdx.x;  // EXPECT: fixed_shared out_of_bounds
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];  // EXPECT: fixed_shared out_of_bounds
}
CASE(fixed_shared) {
  DeviceArray<float> out(256);
  Fixed<<<1, bad ? 256 : 128>>>(out.data);
}

// A shuffle brings lanes together, and orders no memory.
template <bool kBad>
__global__ void Stage(const int* in, int* out) {
  __shared__ int s[32];
  s[threadIdx.x] = in[threadIdx.x];  // EXPECT: shfl_order race
  int x = __shfl_sync(0xffffffffu, threadIdx.x, 31 - threadIdx.x);
  if (!kBad) __syncwarp();
  out[threadIdx.x] = s[x];  // EXPECT: shfl_order race
}
CASE(shfl_order) {
  DeviceArray<int> in(32), out(32);
  LAUNCH(Stage, 1, 32, in.data, out.data)
}

// Half a warp synchronises, its other half is read.
template <int kTile>
__global__ void TileSync(const int* in, int* out) {
  __shared__ int s[64];
  auto tile = cg::tiled_partition<kTile>(cg::this_thread_block());
  s[threadIdx.x] = in[threadIdx.x];  // EXPECT: narrow_tile race
  tile.sync();
  out[threadIdx.x] = s[threadIdx.x ^ 16];  // EXPECT: narrow_tile race
}
CASE(narrow_tile) {
  DeviceArray<int> in(64), out(64);
  if (bad)
    TileSync<16><<<1, 64>>>(in.data, out.data);
  else
    TileSync<32><<<1, 64>>>(in.data, out.data);
}

// Rows of odd length, two elements at a time.
__global__ void Row2(const float* in, float* out, int w) {
  const float2 v = reinterpret_cast<const float2*>(
      in + blockIdx.x * w)[threadIdx.x];  // EXPECT: odd_row misaligned
  out[blockIdx.x * 64 + threadIdx.x] = v.x + v.y;
}
CASE(odd_row) {
  DeviceArray<float> in(512), out(256);
  Row2<<<4, 16>>>(in.data, out.data, bad ? 33 : 34);
}

// Atomics of block scope on a counter of the grid.
template <bool kBad>
__global__ void BlockScope(int* counter, int* out) {
  int t;
  if (kBad)
    t = atomicAdd_block(counter, 1);  // EXPECT: block_scope race
  else
    t = atomicAdd(counter, 1);
  if (t < 0) out[0] = t;
}
CASE(block_scope) {
  DeviceArray<int> c(1), out(1);
  LAUNCH(BlockScope, 4, 32, c.data, out.data)
}

CASES_MAIN()
