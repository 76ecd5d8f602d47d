// Memory errors and their corrected twins: `memory NAME bad` and `memory NAME good`. Each case says
// what the bad one must be reported as, `EXPECT: case kind`, on the line where it happens.
// NVCC: -g -lineinfo -std=c++17
// RUN: %python %S/run_cases.py %kernelsmith %x %s
// OUT:
// | {{([0-9]+) of \1 pairs right}}
#include <cstdio>
#include <cstring>

#include "cases.h"

constexpr int kN = 100;

__global__ void Fill(int* a, int n, int extra) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n + extra) a[i] = i;  // EXPECT: off_by_one out_of_bounds
}
CASE(off_by_one) {
  DeviceArray<int> a(kN);
  Fill<<<4, 32>>>(a.data, kN, bad ? 1 : 0);
}

__global__ void Before(float* a, int shift) {
  a[static_cast<int>(threadIdx.x) - shift] = 1;  // EXPECT: before_start out_of_bounds
}
CASE(before_start) {
  DeviceArray<float> a(32);
  Before<<<1, 32>>>(a.data, bad ? 1 : 0);
}

__global__ void Read(const float* a, float* out, int stride) {
  out[threadIdx.x] = a[threadIdx.x * stride];  // EXPECT: stride out_of_bounds
}
CASE(stride) {
  DeviceArray<float> a(64);
  DeviceArray<float> out(32);
  Read<<<1, 32>>>(a.data, out.data, bad ? 4 : 2);
}

// 10 bytes were asked for; the allocator hands out more.
__global__ void Bytes(char* a, int n) {
  for (int i = 0; i < n; ++i) a[i] = 1;  // EXPECT: padding out_of_bounds
}
CASE(padding) {
  DeviceArray<char> a(10);
  Bytes<<<1, 1>>>(a.data, bad ? 12 : 10);
}

// Lands between two allocations, far from both.
__global__ void Between(int* a, long offset) {
  a[offset + threadIdx.x] = 2;  // EXPECT: between out_of_bounds
}
CASE(between) {
  DeviceArray<int> a(kN);
  DeviceArray<int> b(kN);
  Between<<<1, 32>>>(a.data, bad ? 3000 : 0);
}

__global__ void Vector(float4* a, int n) {
  const int i = threadIdx.x;
  if (i < n) a[i] = make_float4(1, 2, 3, 4);  // EXPECT: vector_tail out_of_bounds
}
CASE(vector_tail) {
  DeviceArray<float> a(30);
  Vector<<<1, 32>>>(reinterpret_cast<float4*>(a.data), bad ? 8 : 7);
}

__global__ void Count(int* bins, const int* keys, int n) {
  const int i = threadIdx.x;
  if (i < n) atomicAdd(&bins[keys[i]], 1);  // EXPECT: atomic_bin out_of_bounds
}
CASE(atomic_bin) {
  DeviceArray<int> bins(8);
  int keys[4] = {0, 3, 7, bad ? 8 : 5};
  DeviceArray<int> device(4);
  cudaMemcpy(device.data, keys, sizeof keys, cudaMemcpyHostToDevice);
  Count<<<1, 32>>>(bins.data, device.data, 4);
}

__global__ void Shared(int* out, int n) {
  __shared__ int s[32];
  if (threadIdx.x < 32) s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x + n];  // EXPECT: shared_after out_of_bounds
}
CASE(shared_after) {
  DeviceArray<int> out(32);
  Shared<<<1, 32>>>(out.data, bad ? 1 : 0);
}

__global__ void DynamicShared(int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = threadIdx.x;  // EXPECT: dynamic_shared out_of_bounds
  __syncthreads();
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];  // EXPECT: dynamic_shared out_of_bounds
}
CASE(dynamic_shared) {
  DeviceArray<int> out(64);
  DynamicShared<<<1, 64, bad ? 32 * 4 : 64 * 4>>>(out.data);
}

__global__ void Local(int* out, const int* index) {
  int a[10];
  for (int i = 0; i < 10; ++i) a[i] = index[i];
  a[index[10]] = 3;  // EXPECT: local_array out_of_bounds
  out[0] = a[index[0]] + a[index[1]];
}
CASE(local_array) {
  DeviceArray<int> out(1);
  int values[11] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, bad ? 10 : 9};
  DeviceArray<int> index(11);
  cudaMemcpy(index.data, values, sizeof values, cudaMemcpyHostToDevice);
  Local<<<1, 1>>>(out.data, index.data);
}

__constant__ int kTable[4];
__global__ void Constant(int* out, int i) {
  out[0] = kTable[i];  // EXPECT: constant_table out_of_bounds
}
CASE(constant_table) {
  DeviceArray<int> out(1);
  Constant<<<1, 1>>>(out.data, bad ? 4 : 3);
}

__device__ int g_values[16];
__global__ void Global(int n) {
  g_values[threadIdx.x * n] = 1;  // EXPECT: device_variable out_of_bounds
}
CASE(device_variable) { Global<<<1, 16>>>(bad ? 2 : 1); }

__global__ void Misaligned(const char* a, int* out) {
  out[threadIdx.x] = *reinterpret_cast<const int*>(a + 4 * threadIdx.x);  // EXPECT: offset_pointer misaligned
}
CASE(offset_pointer) {
  DeviceArray<char> a(256);
  DeviceArray<int> out(32);
  Misaligned<<<1, 32>>>(a.data + (bad ? 1 : 4), out.data);
}

__global__ void MisalignedVector(const float* a, float* out) {
  const float4 v = *reinterpret_cast<const float4*>(a + 4 * threadIdx.x);  // EXPECT: float4_row misaligned
  out[threadIdx.x] = v.x + v.w;
}
CASE(float4_row) {
  DeviceArray<float> a(256);
  DeviceArray<float> out(32);
  MisalignedVector<<<1, 32>>>(a.data + (bad ? 2 : 4), out.data);
}

__global__ void MisalignedShared(int* out, int shift) {
  __shared__ alignas(16) char s[512];
  reinterpret_cast<int*>(s)[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = *reinterpret_cast<int*>(s + 4 * threadIdx.x + shift);  // EXPECT: shared_cast misaligned
}
CASE(shared_cast) {
  DeviceArray<int> out(32);
  MisalignedShared<<<1, 32>>>(out.data, bad ? 2 : 0);
}

__global__ void Null(int* a) {
  if (threadIdx.x == 3) a[threadIdx.x] = 1;  // EXPECT: null_argument null
}
CASE(null_argument) {
  DeviceArray<int> a(32);
  Null<<<1, 32>>>(bad ? nullptr : a.data);
}

struct Node {
  int value;
  Node* next;
};
__global__ void Follow(Node* node, int* out, int steps) {
  for (int i = 0; i < steps; ++i) node = node->next;
  *out = node->value;  // EXPECT: list_end null
}
CASE(list_end) {
  DeviceArray<Node> nodes(2);
  DeviceArray<int> out(1);
  Node host[2] = {{1, nodes.data + 1}, {2, nullptr}};
  cudaMemcpy(nodes.data, host, sizeof host, cudaMemcpyHostToDevice);
  Follow<<<1, 1>>>(nodes.data, out.data, bad ? 2 : 1);
}

__global__ void Touch(int* a) {
  a[threadIdx.x] = 1;  // EXPECT: freed_buffer use_after_free
}
CASE(freed_buffer) {
  int* a = nullptr;
  cudaMalloc(&a, 128);
  if (bad) cudaFree(a);
  Touch<<<1, 32>>>(a);
  cudaDeviceSynchronize();
  if (!bad) cudaFree(a);
}

__global__ void HeapFree(int* out, bool early) {
  int* p = static_cast<int*>(malloc(64));
  p[0] = 5;
  if (early) free(p);
  *out = p[0];  // EXPECT: heap_freed use_after_free
  if (!early) free(p);
}
CASE(heap_freed) {
  DeviceArray<int> out(1);
  HeapFree<<<1, 1>>>(out.data, bad);
}

__global__ void HeapEnd(int* out, int i) {
  int* p = static_cast<int*>(malloc(20));
  for (int k = 0; k < 5; ++k) p[k] = k;
  *out = p[i];  // EXPECT: heap_end out_of_bounds
  free(p);
}
CASE(heap_end) {
  DeviceArray<int> out(1);
  HeapEnd<<<1, 1>>>(out.data, bad ? 5 : 4);
}

__global__ void FreeTwice(bool twice) {
  char* p = static_cast<char*>(malloc(16));
  free(p);
  if (twice) free(p);  // EXPECT: heap_twice double_free
}
CASE(heap_twice) { FreeTwice<<<1, 1>>>(bad); }

CASE(host_twice) {
  int* a = nullptr;
  cudaMalloc(&a, 64);
  cudaFree(a);
  if (bad) cudaFree(a);  // EXPECT: host_twice double_free
}

CASE(pinned_twice) {
  int* a = nullptr;
  cudaMallocHost(&a, 64);
  cudaFreeHost(a);
  if (bad) cudaFreeHost(a);  // EXPECT: pinned_twice double_free
}

__constant__ int kSettings[4];
__global__ void WriteConstant(int* other, bool constant) {
  int* target = constant ? const_cast<int*>(kSettings) : other;
  target[threadIdx.x] = 1;  // EXPECT: constant_write write_to_readonly
}
CASE(constant_write) {
  DeviceArray<int> a(4);
  WriteConstant<<<1, 4>>>(a.data, bad);
}

CASE(forgotten) {
  int* a = nullptr;
  cudaMalloc(&a, 64);  // EXPECT: forgotten leak
  if (!bad) cudaFree(a);
}

CASE(forgotten_pinned) {
  int* a = nullptr;
  cudaMallocHost(&a, 64);  // EXPECT: forgotten_pinned leak
  if (!bad) cudaFreeHost(a);
}

__global__ void HeapLeak(bool forget) {
  char* p = static_cast<char*>(malloc(16));  // EXPECT: heap_forgotten leak
  if (!forget) free(p);
}
CASE(heap_forgotten) { HeapLeak<<<1, 1>>>(bad); }

__global__ void Nothing() {}
CASE(too_many_threads) {
  Nothing<<<1, bad ? 2048 : 1024>>>();  // EXPECT: too_many_threads launch_error
}

CASE(too_much_shared) {
  Nothing<<<1, 32, bad ? 1 << 20 : 1 << 10>>>();  // EXPECT: too_much_shared launch_error
}

CASE(empty_grid) {
  Nothing<<<bad ? 0 : 1, 32>>>();  // EXPECT: empty_grid launch_error
}

CASE(copy_too_long) {
  DeviceArray<char> a(64);
  char host[128] = {};
  cudaMemcpy(a.data, host, bad ? 128 : 64, cudaMemcpyHostToDevice);  // EXPECT: copy_too_long api_error
}

CASE(wrong_direction) {
  DeviceArray<char> a(64);
  char host[64] = {};
  cudaMemcpy(bad ? host : a.data, host, 64, cudaMemcpyHostToDevice);  // EXPECT: wrong_direction api_error
}

CASE(free_of_middle) {
  char* a = nullptr;
  cudaMalloc(&a, 64);
  if (bad) cudaFree(a + 16);  // EXPECT: free_of_middle api_error
  cudaFree(a);
}

CASE(out_of_memory) {
  char* a = nullptr;
  cudaMalloc(&a, bad ? size_t{1} << 50 : 64);  // EXPECT: out_of_memory api_error
  if (a != nullptr) cudaFree(a);
}

CASE(bad_event) {
  cudaEvent_t event;
  cudaEventCreate(&event);
  cudaEventDestroy(event);
  if (bad) cudaEventRecord(event);  // EXPECT: bad_event api_error
}

CASE(checked_error) {  // the same error, looked at
  char* a = nullptr;
  const cudaError_t error = cudaMalloc(&a, size_t{1} << 50);
  if (error == cudaSuccess) std::puts("unexpected");
  cudaGetLastError();
  if (bad) cudaMemset(nullptr, 0, 4);  // EXPECT: checked_error api_error
}

__global__ void CopyAsync(const float* a, float* out, int n) {
  __shared__ float s[64];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&s[threadIdx.x]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(a + threadIdx.x + n));  // EXPECT: cp_async out_of_bounds
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
CASE(cp_async) {
  DeviceArray<float> a(64);
  DeviceArray<float> out(64);
  CopyAsync<<<1, 64>>>(a.data, out.data, bad ? 1 : 0);
}

__device__ __noinline__ float Sum(const float* a, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i];  // EXPECT: in_function out_of_bounds
  return sum;
}
__global__ void CallSum(const float* a, float* out, int n) { out[threadIdx.x] = Sum(a, n); }
CASE(in_function) {
  DeviceArray<float> a(16);
  DeviceArray<float> out(32);
  CallSum<<<1, 32>>>(a.data, out.data, bad ? 17 : 16);
}

__global__ void Row(float* a, int width, int height, int limit) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < limit) a[y * width + x] = 0;  // EXPECT: image_rows out_of_bounds
}
CASE(image_rows) {
  DeviceArray<float> a(20 * 10);
  Row<<<dim3(2, 2), dim3(16, 8)>>>(a.data, 20, 10, bad ? 11 : 10);
}

CASES_MAIN()
