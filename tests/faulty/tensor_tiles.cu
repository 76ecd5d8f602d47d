// Kernels as they are written every day (reductions, tiles, tensor cores, bulk copies, clusters)
// with the slips that are made in them, beside their corrected twins. `tensor_tiles NAME bad|good`.
// NVCC: -g -lineinfo -std=c++17 -arch=compute_90
// RUN: %python %S/run_cases.py %kernelsmith %x %s
// OUT:
// | {{([0-9]+) of \1 pairs right}}
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdio>
#include <cstring>

#include "cases.h"

namespace cg = cooperative_groups;

template <typename T>
void ToHost(const T* device, size_t count) {
  T* host = new T[count];
  cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost);
  delete[] host;
}

__device__ float WarpMax(float x) {
  for (int d = 16; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
  return x;
}
__device__ float WarpSum(float x) {
  for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
  return x;
}

// The second reduction reuses the memory of the first.
template <bool kBad>
__global__ void Softmax(const float* in, float* out, int n) {
  __shared__ float red[8];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const float x = threadIdx.x < n ? in[threadIdx.x] : -INFINITY;
  float m = WarpMax(x);
  if (lane == 0) red[warp] = m;
  __syncthreads();
  m = red[0];                                                        // EXPECT: softmax_reuse race
  for (int w = 1; w < 8; ++w) m = fmaxf(m, red[w]);                  // EXPECT: softmax_reuse race
  if (!kBad) __syncthreads();
  float s = WarpSum(expf(x - m));
  if (lane == 0) red[warp] = s;                                      // EXPECT: softmax_reuse race
  __syncthreads();
  s = 0;
  for (int w = 0; w < 8; ++w) s += red[w];
  if (threadIdx.x < n) out[threadIdx.x] = expf(x - m) / s;
}
CASE(softmax_reuse) {
  DeviceArray<float> in(256);
  DeviceArray<float> out(256);
  if (bad) {
    Softmax<true><<<1, 256>>>(in.data, out.data, 250);
  } else {
    Softmax<false><<<1, 256>>>(in.data, out.data, 250);
  }
  ToHost(out.data, 250);
}

// One partial sum a warp, but the last stage reads as many as there could be.
template <bool kBad>
__global__ void BlockSum(const float* in, float* out) {
  __shared__ float part[32];
  float s = WarpSum(in[threadIdx.x]);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    const bool there = kBad || threadIdx.x < blockDim.x / 32;
    s = WarpSum(there ? part[threadIdx.x] : 0.0f);  // EXPECT: too_many_partials uninitialized_read
    if (threadIdx.x == 0) *out = s;
  }
}
CASE(too_many_partials) {
  DeviceArray<float> in(128);
  DeviceArray<float> out(1);
  if (bad) {
    BlockSum<true><<<1, 128>>>(in.data, out.data);
  } else {
    BlockSum<false><<<1, 128>>>(in.data, out.data);
  }
  ToHost(out.data, 1);
}

// A tile in shared memory whose tail along k is not filled with zeros.
template <bool kBad>
__global__ void WmmaTail(const half* a, const half* b, float* c, int k) {
  using namespace nvcuda;
  __shared__ half tile_a[16 * 16];
  __shared__ half tile_b[16 * 16];
  for (int i = threadIdx.x; i < 256; i += 32) {
    const int row = i / 16;
    const int column = i % 16;
    if (column < k) {
      tile_a[i] = a[row * k + column];
    } else if (!kBad) {
      tile_a[i] = __float2half(0.0f);
    }
    tile_b[i] = b[i];
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, tile_a, 16);  // EXPECT: wmma_tail uninitialized_read
  wmma::load_matrix_sync(fb, tile_b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
CASE(wmma_tail) {
  DeviceArray<half> a(256);
  DeviceArray<half> b(256);
  DeviceArray<float> c(256);
  if (bad) {
    WmmaTail<true><<<1, 32>>>(a.data, b.data, c.data, 12);
  } else {
    WmmaTail<false><<<1, 32>>>(a.data, b.data, c.data, 12);
  }
  ToHost(c.data, 256);
}

// Rows behind the last one may hold anything as long as nobody uses what comes of them.
__global__ void WmmaRows(const half* a, const half* b, float* c, int rows, int store) {
  using namespace nvcuda;
  __shared__ half tile_a[16 * 16];
  __shared__ half tile_b[16 * 16];
  __shared__ float tile_c[16 * 16];
  for (int i = threadIdx.x; i < 256; i += 32) {
    if (i / 16 < rows) tile_a[i] = a[i];
    tile_b[i] = b[i];
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, tile_a, 16);
  wmma::load_matrix_sync(fb, tile_b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(tile_c, fc, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 16 * store; i += 32) c[i] = tile_c[i];  // EXPECT: wmma_rows uninitialized_read
}
CASE(wmma_rows) {
  DeviceArray<half> a(256);
  DeviceArray<half> b(256);
  DeviceArray<float> c(256);
  WmmaRows<<<1, 32>>>(a.data, b.data, c.data, 11, bad ? 16 : 11);
  ToHost(c.data, 256);
}

// Two halves at a time, an odd number of them.
template <bool kBad>
__global__ void Halves(const half* in, half* out, int n) {
  __shared__ __align__(4) half s[64];
  for (int i = threadIdx.x; i < n; i += 32) s[i] = in[i];
  if (!kBad && threadIdx.x == 0 && n % 2 == 1) s[n] = __float2half(0.0f);
  __syncwarp();
  const int pairs = (n + 1) / 2;
  if (threadIdx.x < pairs) {
    const half2 x = reinterpret_cast<const half2*>(s)[threadIdx.x];  // EXPECT: odd_half uninitialized_read
    reinterpret_cast<half2*>(out)[threadIdx.x] = __hadd2(x, x);
  }
}
CASE(odd_half) {
  DeviceArray<half> in(64);
  DeviceArray<half> out(64);
  if (bad) {
    Halves<true><<<1, 32>>>(in.data, out.data, 31);
  } else {
    Halves<false><<<1, 32>>>(in.data, out.data, 31);
  }
  ToHost(out.data, 32);
}

__device__ unsigned SharedAddress(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ void Wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
      "@!p bra AGAIN; }" ::"r"(barrier), "r"(parity) : "memory");
}

// A bulk copy that nobody waits for.
template <bool kBad>
__global__ void BulkTile(const float* in, float* out) {
  __shared__ __align__(128) float tile[128];
  __shared__ __align__(8) unsigned long long barrier;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(SharedAddress(&barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" ::"r"(SharedAddress(&barrier)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"  // EXPECT: bulk_wait async_hazard
                 ::"r"(SharedAddress(tile)), "l"(in), "r"(SharedAddress(&barrier)) : "memory");
  }
  if (!kBad) Wait(SharedAddress(&barrier), 0);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];  // EXPECT: bulk_wait async_hazard
}
CASE(bulk_wait) {
  DeviceArray<float> in(128);
  DeviceArray<float> out(128);
  if (bad) {
    BulkTile<true><<<1, 128>>>(in.data, out.data);
  } else {
    BulkTile<false><<<1, 128>>>(in.data, out.data);
  }
}

// Shared memory of the neighbour in the cluster, before it is written.
template <bool kBad>
__global__ void __cluster_dims__(2, 1, 1) Neighbour(int* out) {
  __shared__ int s[64];
  cg::cluster_group cluster = cg::this_cluster();
  s[threadIdx.x] = threadIdx.x;  // EXPECT: cluster_read race
  if (kBad) {
    __syncthreads();
  } else {
    cluster.sync();
  }
  const int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  out[blockIdx.x * 64 + threadIdx.x] = other[threadIdx.x];  // EXPECT: cluster_read race
  cluster.sync();
}
CASE(cluster_read) {
  DeviceArray<int> out(128);
  if (bad) {
    Neighbour<true><<<2, 64>>>(out.data);
  } else {
    Neighbour<false><<<2, 64>>>(out.data);
  }
}

// The neighbour may be gone before its memory is read.
template <bool kBad>
__global__ void __cluster_dims__(2, 1, 1) Leaves(int* out) {
  __shared__ int s[64];
  cg::cluster_group cluster = cg::this_cluster();
  s[threadIdx.x] = threadIdx.x;
  cluster.sync();
  const int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  out[blockIdx.x * 64 + threadIdx.x] = other[threadIdx.x];  // EXPECT: cluster_exit race
  if (!kBad) cluster.sync();
}
CASE(cluster_exit) {
  DeviceArray<int> out(128);
  if (bad) {
    Leaves<true><<<2, 64>>>(out.data);
  } else {
    Leaves<false><<<2, 64>>>(out.data);
  }
}

// Sums into the first block's counters, without zeros in them.
template <bool kBad>
__global__ void __cluster_dims__(2, 1, 1) SharedHistogram(const int* in, int* out) {
  __shared__ int bins[8];
  cg::cluster_group cluster = cg::this_cluster();
  if (!kBad && threadIdx.x < 8) bins[threadIdx.x] = 0;
  cluster.sync();
  int* first = cluster.map_shared_rank(bins, 0);
  atomicAdd(&first[in[blockIdx.x * 64 + threadIdx.x] & 7], 1);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];  // EXPECT: cluster_bins uninitialized_read
}
CASE(cluster_bins) {
  DeviceArray<int> in(128);
  DeviceArray<int> out(8);
  if (bad) {
    SharedHistogram<true><<<2, 64>>>(in.data, out.data);
  } else {
    SharedHistogram<false><<<2, 64>>>(in.data, out.data);
  }
  ToHost(out.data, 8);
}

// A barrier's vote over what only some threads computed.
template <bool kBad>
__global__ void AnyNegative(const float* in, int* out, int n) {
  __shared__ float s[128];
  if (threadIdx.x < n) s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const bool negative = (kBad || threadIdx.x < n) && s[threadIdx.x] < 0;
  const int any = __syncthreads_or(negative);  // EXPECT: vote_of_all uninitialized_read
  if (threadIdx.x == 0) *out = any;
}
CASE(vote_of_all) {
  DeviceArray<float> in(128);
  DeviceArray<int> out(1);
  if (bad) {
    AnyNegative<true><<<1, 128>>>(in.data, out.data, 100);
  } else {
    AnyNegative<false><<<1, 128>>>(in.data, out.data, 100);
  }
  ToHost(out.data, 1);
}

// Gradients of rows added up in memory that nobody cleared.
__global__ void Accumulate(const float* in, float* grad, int rows) {
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    atomicAdd(&grad[threadIdx.x], in[r * 32 + threadIdx.x]);  // EXPECT: stale_gradient uninitialized_read
  }
}
CASE(stale_gradient) {
  DeviceArray<float> in(32 * 8);
  float* grad = nullptr;
  cudaMalloc(&grad, 32 * sizeof(float));
  if (!bad) cudaMemset(grad, 0, 32 * sizeof(float));
  Accumulate<<<2, 32>>>(in.data, grad, 8);
  ToHost(grad, 32);
  cudaFree(grad);
}

// Two buffers, and the wrong one is filled while the other threads still read it.
template <bool kBad>
__global__ void Pipeline(const float* in, float* out, int steps) {
  __shared__ float buffer[2][64];
  float sum = 0;
  buffer[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int i = 0; i < steps; ++i) {
    const int now = i & 1;
    const int next = kBad ? now : now ^ 1;
    if (i + 1 < steps) buffer[next][threadIdx.x] = in[(i + 1) * 64 + threadIdx.x];  // EXPECT: wrong_buffer race
    sum += buffer[now][63 - threadIdx.x];  // EXPECT: wrong_buffer race
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
CASE(wrong_buffer) {
  DeviceArray<float> in(64 * 4);
  DeviceArray<float> out(64);
  if (bad) {
    Pipeline<true><<<1, 64>>>(in.data, out.data, 4);
  } else {
    Pipeline<false><<<1, 64>>>(in.data, out.data, 4);
  }
}

CASES_MAIN()
