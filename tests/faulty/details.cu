// Slips around tiles, asynchronous copies and streams, second part; see habits.cu.
// `details NAME bad|good`.
// NVCC: -g -lineinfo -std=c++17 -diag-suppress 20054
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

// A 3 x 3 filter whose tile has no corners.
template <bool kBad>
__global__ void Filter(const float* in, float* out, int width) {
  __shared__ float tile[10][10];
  const int x = threadIdx.x + 1;
  const int y = threadIdx.y + 1;
  const float* at = in + y * width + x;
  tile[y][x] = *at;
  if (threadIdx.x == 0) tile[y][0] = at[-1];
  if (threadIdx.x == 7) tile[y][9] = at[1];
  if (threadIdx.y == 0) tile[0][x] = at[-width];
  if (threadIdx.y == 7) tile[9][x] = at[width];
  if (!kBad && threadIdx.x == 0 && threadIdx.y == 0) {
    tile[0][0] = in[0];
    tile[0][9] = in[9];
    tile[9][0] = in[9 * width];
    tile[9][9] = in[9 * width + 9];
  }
  __syncthreads();
  float sum = 0;
  for (int i = -1; i <= 1; ++i) {
    for (int j = -1; j <= 1; ++j) sum += tile[y + i][x + j];  // EXPECT: corners uninitialized_read
  }
  out[threadIdx.y * 8 + threadIdx.x] = sum;
}
CASE(corners) {
  DeviceArray<float> in(100), out(64);
  if (bad) {
    Filter<true><<<1, dim3(8, 8)>>>(in.data, out.data, 10);
  } else {
    Filter<false><<<1, dim3(8, 8)>>>(in.data, out.data, 10);
  }
  ToHost(out.data, 64);
}

// mma.sync by hand, with rows of the second operand that nobody filled.
template <bool kBad>
__global__ void HandMma(const half* a, const half* b, float* c, int k) {
  __shared__ __align__(16) half sa[16][16];
  __shared__ __align__(16) half sb[16][8];
  for (int i = threadIdx.x; i < 256; i += 32) sa[i / 16][i % 16] = i % 16 < k ? a[i] : __float2half(0);
  for (int i = threadIdx.x; i < 128; i += 32) {
    if (i / 8 < k) {
      sb[i / 8][i % 8] = b[i];
    } else if (!kBad) {
      sb[i / 8][i % 8] = __float2half(0);
    }
  }
  __syncwarp();
  unsigned ra[4], rb[2];
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&sa[threadIdx.x % 16][threadIdx.x / 16 * 8]));
  const unsigned bt = static_cast<unsigned>(__cvta_generic_to_shared(&sb[threadIdx.x % 16][0]));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(bt));  // EXPECT: hand_mma uninitialized_read
  float d[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 4; ++i) c[threadIdx.x * 4 + i] = d[i];
}
CASE(hand_mma) {
  DeviceArray<half> a(256), b(128);
  DeviceArray<float> c(128);
  if (bad) {
    HandMma<true><<<1, 32>>>(a.data, b.data, c.data, 10);
  } else {
    HandMma<false><<<1, 32>>>(a.data, b.data, c.data, 10);
  }
  ToHost(c.data, 128);
}

// Two arrays cut from dynamic shared memory, the second one too early.
__global__ void Carved(const int* in, int* out, int first) {
  extern __shared__ int memory[];
  int* a = memory;
  int* b = memory + first;
  a[threadIdx.x] = in[threadIdx.x];       // EXPECT: carved race
  b[threadIdx.x] = in[64 + threadIdx.x];  // EXPECT: carved race
  __syncthreads();
  out[threadIdx.x] = a[63 - threadIdx.x] + b[63 - threadIdx.x];
}
CASE(carved) {
  DeviceArray<int> in(128), out(64);
  int host[128];
  for (int i = 0; i < 128; ++i) host[i] = i * 7;
  cudaMemcpy(in.data, host, sizeof host, cudaMemcpyHostToDevice);
  Carved<<<1, 64, 128 * sizeof(int)>>>(in.data, out.data, bad ? 32 : 64);
}

// cudaMemcpy waits for the default stream, not for this one.
__global__ void Slow(int* a) {
  a[threadIdx.x] = threadIdx.x;  // EXPECT: other_stream race
}
CASE(other_stream) {
  DeviceArray<int> a(64);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, bad ? cudaStreamNonBlocking : cudaStreamDefault);
  Slow<<<1, 64, 0, stream>>>(a.data);
  ToHost(a.data, 64);
  cudaStreamDestroy(stream);
}

// 16 bytes at a time from where only 4 are aligned.
__global__ void WideCopy(const float* in, float* out, int shift) {
  __shared__ __align__(16) float s[128];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&s[threadIdx.x * 4]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + threadIdx.x * 4 + shift));  // EXPECT: wide_copy misaligned
  asm volatile("cp.async.wait_all;");
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x * 4];
}
CASE(wide_copy) {
  DeviceArray<float> in(256), out(32);
  WideCopy<<<1, 32>>>(in.data, out.data, bad ? 1 : 4);
}

// A tile of 16 columns in rows of 24, read with a stride of 32.
__global__ void WmmaStride(const half* a, float* c, int stride) {
  using namespace nvcuda;
  __shared__ __align__(32) half tile[16 * 24];
  for (int i = threadIdx.x; i < 16 * 24; i += 32) tile[i] = a[i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fb, __float2half(1));
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, tile, stride);  // EXPECT: wmma_stride out_of_bounds
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
CASE(wmma_stride) {
  DeviceArray<half> a(16 * 24);
  DeviceArray<float> c(256);
  WmmaStride<<<1, 32>>>(a.data, c.data, bad ? 32 : 24);
}

// The neighbour's memory is written, and only the own block waits.
template <bool kBad>
__global__ void __cluster_dims__(2, 1, 1) Push(int* out) {
  __shared__ int s[64];
  cg::cluster_group cluster = cg::this_cluster();
  int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  cluster.sync();
  other[threadIdx.x] = threadIdx.x;  // EXPECT: push race
  if (kBad) {
    __syncthreads();
  } else {
    cluster.sync();
  }
  out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];  // EXPECT: push race
  cluster.sync();
}
CASE(push) {
  DeviceArray<int> out(128);
  if (bad) {
    Push<true><<<2, 64>>>(out.data);
  } else {
    Push<false><<<2, 64>>>(out.data);
  }
}

__device__ unsigned SharedAddress(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// Only the thread that started the bulk copy waits for it.
template <bool kBad>
__global__ void OneWaits(const float* in, float* out) {
  __shared__ __align__(128) float tile[128];
  __shared__ __align__(8) unsigned long long barrier;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(SharedAddress(&barrier)) : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;" ::"r"(SharedAddress(&barrier)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"  // EXPECT: one_waits async_hazard
                 ::"r"(SharedAddress(tile)), "l"(in), "r"(SharedAddress(&barrier)) : "memory");
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra AGAIN; }" ::"r"(SharedAddress(&barrier)) : "memory");
  }
  if (!kBad) __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];  // EXPECT: one_waits async_hazard
}
CASE(one_waits) {
  DeviceArray<float> in(128), out(128);
  if (bad) {
    OneWaits<true><<<1, 128>>>(in.data, out.data);
  } else {
    OneWaits<false><<<1, 128>>>(in.data, out.data);
  }
}

// The same memory is given back twice to its pool.
CASE(pool_twice) {
  int* a = nullptr;
  cudaMallocAsync(&a, 64, 0);
  cudaFreeAsync(a, 0);
  if (bad) cudaFreeAsync(a, 0);  // EXPECT: pool_twice double_free
  cudaDeviceSynchronize();
}

// Undefined values through a copy between buffers, and a kernel that branches on them.
__global__ void Count(const int* in, int* out) {
  if (in[threadIdx.x] > 3) atomicAdd(out, 1);  // EXPECT: copied_garbage uninitialized_read
}
CASE(copied_garbage) {
  int* raw = nullptr;
  cudaMalloc(&raw, 64 * sizeof(int));
  DeviceArray<int> in(64), out(1);
  if (!bad) cudaMemset(raw, 0, 64 * sizeof(int));
  cudaMemcpy(in.data, raw, 64 * sizeof(int), cudaMemcpyDeviceToDevice);
  Count<<<1, 64>>>(in.data, out.data);
  cudaDeviceSynchronize();
  cudaFree(raw);
}

// The grid's barrier without a cooperative launch.
__global__ void GridSync(int* a, bool sync) {
  if (threadIdx.x == 0) a[blockIdx.x] = 1;
  if (sync) cg::this_grid().sync();  // EXPECT: not_cooperative launch_error
}
CASE(not_cooperative) {
  DeviceArray<int> a(4);
  GridSync<<<4, 32>>>(a.data, bad);
}

CASES_MAIN()
