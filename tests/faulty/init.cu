// Reads of what was never written, and their corrected twins: `init NAME bad` and `init NAME good`.
// NVCC: -g -lineinfo -std=c++17
// RUN: %python %S/run_cases.py %kernelsmith %x %s
// OUT:
// | {{([0-9]+) of \1 pairs right}}
#include <cstdio>
#include <cstring>

#include "cases.h"

template <typename T>
struct RawArray {  // like DeviceArray, but nothing is in it
  T* data = nullptr;
  explicit RawArray(size_t count) { cudaMalloc(&data, count * sizeof(T)); }
  ~RawArray() {
    cudaDeviceSynchronize();
    cudaFree(data);
  }
};

__global__ void Positive(const float* a, int* out) {
  if (a[threadIdx.x] > 0) out[threadIdx.x] = 1;  // EXPECT: branch_on_global uninitialized_read
}
CASE(branch_on_global) {
  RawArray<float> a(32);
  DeviceArray<int> out(32);
  if (!bad) cudaMemset(a.data, 0, 32 * sizeof(float));
  Positive<<<1, 32>>>(a.data, out.data);
}

__global__ void Gather(const int* index, const float* a, float* out) {
  out[threadIdx.x] = a[index[threadIdx.x] & 31];  // EXPECT: index_global uninitialized_read
}
CASE(index_global) {
  RawArray<int> index(32);
  DeviceArray<float> a(32);
  DeviceArray<float> out(32);
  if (!bad) cudaMemset(index.data, 0, 32 * sizeof(int));
  Gather<<<1, 32>>>(index.data, a.data, out.data);
}

__global__ void ShareHalf(float* out, int written) {
  __shared__ float s[64];
  if (threadIdx.x < written) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];  // EXPECT: shared_half uninitialized_read
}
CASE(shared_half) {
  DeviceArray<float> out(64);
  ShareHalf<<<1, 64>>>(out.data, bad ? 32 : 64);
  float host[64];
  cudaMemcpy(host, out.data, sizeof host, cudaMemcpyDeviceToHost);
}

__global__ void SumShared(float* out, bool clear) {
  __shared__ float total;
  if (clear && threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, 1.0f);
  __syncthreads();
  if (threadIdx.x == 0) *out = total;  // EXPECT: shared_sum uninitialized_read
}
CASE(shared_sum) {
  DeviceArray<float> out(1);
  SumShared<<<1, 32>>>(out.data, !bad);
  float host;
  cudaMemcpy(&host, out.data, sizeof host, cudaMemcpyDeviceToHost);
}

__global__ void LocalArray(const int* index, int* out, int written) {
  int a[8];
  for (int i = 0; i < written; ++i) a[index[i]] = i;
  out[0] = a[index[7]];  // EXPECT: local_tail uninitialized_read
}
CASE(local_tail) {
  int values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  DeviceArray<int> index(8);
  DeviceArray<int> out(1);
  cudaMemcpy(index.data, values, sizeof values, cudaMemcpyHostToDevice);
  LocalArray<<<1, 1>>>(index.data, out.data, bad ? 7 : 8);
  int host;
  cudaMemcpy(&host, out.data, sizeof host, cudaMemcpyDeviceToHost);
}

__global__ void FirstHalf(int* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = 1;
}
CASE(output_tail) {
  RawArray<int> out(64);
  FirstHalf<<<1, 64>>>(out.data, bad ? 32 : 64);
  int host[64];
  cudaMemcpy(host, out.data, sizeof host, cudaMemcpyDeviceToHost);  // EXPECT: output_tail uninitialized_read
}

CASE(never_run) {
  RawArray<int> out(64);
  if (!bad) FirstHalf<<<1, 64>>>(out.data, 64);
  int host[64];
  cudaMemcpy(host, out.data, sizeof host, cudaMemcpyDeviceToHost);  // EXPECT: never_run uninitialized_read
}

// Copies alone are no use of what they copy; the host's look at it is.
__global__ void Copy(const int* a, int* b) {
  b[threadIdx.x] = a[threadIdx.x];  // EXPECT: through_copies uninitialized_read
}
CASE(through_copies) {
  RawArray<int> a(32);
  RawArray<int> b(32);
  RawArray<int> c(32);
  if (!bad) cudaMemset(a.data, 0, 128);
  Copy<<<1, 32>>>(a.data, b.data);
  cudaMemcpy(c.data, b.data, 128, cudaMemcpyDeviceToDevice);
  int host[32];
  cudaMemcpy(host, c.data, 128, cudaMemcpyDeviceToHost);
}

// One byte of a word: the other three may be anything.
__global__ void LowByte(const unsigned* a, unsigned* out, unsigned mask) {
  if ((a[threadIdx.x] & mask) != 0) out[threadIdx.x] = 1;  // EXPECT: masked_word uninitialized_read
}
CASE(masked_word) {
  RawArray<unsigned> a(32);
  DeviceArray<unsigned> out(32);
  cudaMemset2D(a.data, 4, 0, 1, 32);
  LowByte<<<1, 32>>>(a.data, out.data, bad ? 0xffff : 0xff);
}

struct Padded {
  char tag;
  int value;
};
__global__ void MovePadded(const Padded* a, int4* words, int* out, bool padding) {
  const int2 raw = reinterpret_cast<const int2*>(a)[threadIdx.x];
  const int seen = padding ? raw.x : (raw.x & 0xff);
  if (seen == 77) out[threadIdx.x] = raw.y;  // EXPECT: struct_padding uninitialized_read
}
CASE(struct_padding) {
  RawArray<Padded> a(32);
  DeviceArray<int> out(32);
  cudaMemset2D(a.data, 8, 77, 1, 32);
  cudaMemset2D(reinterpret_cast<char*>(a.data) + 4, 8, 2, 4, 32);
  MovePadded<<<1, 32>>>(a.data, nullptr, out.data, bad);
}

__global__ void Shuffle(const int* a, int* out) {
  int value = a[threadIdx.x];
  value = __shfl_sync(0xffffffff, value, 5);
  if (value > 3) out[threadIdx.x] = 1;  // EXPECT: shuffled uninitialized_read
}
CASE(shuffled) {
  RawArray<int> a(32);
  DeviceArray<int> out(32);
  cudaMemset(a.data, 0, bad ? 5 * 4 : 6 * 4);
  Shuffle<<<1, 32>>>(a.data, out.data);
}

__global__ void HeapValue(int* out, bool write) {
  int* p = static_cast<int*>(malloc(8));
  if (write) p[1] = 4;
  const int value = p[1];
  free(p);
  if (value == 4) out[0] = 1;  // EXPECT: heap_value uninitialized_read
}
CASE(heap_value) {
  DeviceArray<int> out(1);
  HeapValue<<<1, 1>>>(out.data, !bad);
}

__global__ void Halves(const short* a, int* out) {
  const int pair = reinterpret_cast<const int*>(a)[threadIdx.x];
  if (static_cast<short>(pair >> 16) > 2) out[threadIdx.x] = 1;  // EXPECT: high_half uninitialized_read
}
CASE(high_half) {
  RawArray<short> a(64);
  DeviceArray<int> out(32);
  cudaMemset2D(reinterpret_cast<char*>(a.data) + (bad ? 0 : 2), 4, 1, 2, 32);
  Halves<<<1, 32>>>(a.data, out.data);
}

__device__ __noinline__ int Twice(int x) { return x * 2; }
__global__ void ThroughCall(const int* a, int* out) {
  if (Twice(a[threadIdx.x]) > 4) out[threadIdx.x] = 1;  // EXPECT: through_call uninitialized_read
}
CASE(through_call) {
  RawArray<int> a(32);
  DeviceArray<int> out(32);
  if (!bad) cudaMemset(a.data, 0, 128);
  ThroughCall<<<1, 32>>>(a.data, out.data);
}

__global__ void AsyncTile(const float* a, float* out) {
  __shared__ float s[32];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&s[threadIdx.x]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(a + threadIdx.x));
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  if (s[31 - threadIdx.x] > 1) out[threadIdx.x] = 1;  // EXPECT: async_tile uninitialized_read
}
CASE(async_tile) {
  RawArray<float> a(32);
  DeviceArray<float> out(32);
  if (!bad) cudaMemset(a.data, 0, 128);
  AsyncTile<<<1, 32>>>(a.data, out.data);
}

CASES_MAIN()
