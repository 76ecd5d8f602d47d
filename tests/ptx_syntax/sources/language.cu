// What C++ makes of plain CUDA: initialised variables, calls, recursion, function pointers, switches,
// printf, shuffles, atomics, half precision.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef __CUDACC_RTC__
#include <cstdio>
#endif

struct Node {
  int value;
  float* data;
};

__constant__ float coefficients[4] = {1.f, 2.f, 3.f, 4.f};
__device__ int table[3][2] = {{1, 2}, {3}, {5, 6}};
__device__ float buffer[16];
__device__ Node node = {3, buffer + 2};
__device__ double half_pi = 1.5707963267948966;
#ifdef __clang__
__device__ int counter = -7;  // clang 19 has no __managed__
#else
__managed__ int counter = -7;
#endif

typedef int (*Function)(int);
__device__ __noinline__ int Fibonacci(int x) {
  return x < 2 ? x : Fibonacci(x - 1) + Fibonacci(x - 2);
}
__device__ __noinline__ int TimesSeven(int x) { return x * 7; }
__device__ Function functions[2] = {Fibonacci, TimesSeven};

__global__ void __launch_bounds__(128, 2)
    Choose(float* out, const float* __restrict__ in, int n, int which) {
  __shared__ float tile[32][33];
  extern __shared__ float dynamic[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tile[threadIdx.x / 32][threadIdx.x % 32] = in[i];
  dynamic[threadIdx.x] = 1.f;
  __syncthreads();
  float v = tile[threadIdx.x % 4][threadIdx.x / 4] + dynamic[127 - threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
  switch (which) {
    case 0: v = sinf(v); break;
    case 1: v = expf(v); break;
    case 2: v = tanhf(v); break;
    case 3: v = coefficients[which]; break;
    case 4: v = erff(v); break;
    case 5: v = powf(v, 3.3f); break;
    case 6: v = 1 / v; break;
    case 7: v = sqrtf(v); break;
    case 8: v = v / (1.f + v); break;
  }
  out[i] = v + functions[which & 1](which);
  if (i == 0) printf("hello %d %f %s\n", n, v, "x");
  atomicAdd(out, v);
  atomicCAS(reinterpret_cast<int*>(out), 1, 2);
  atomicMax(&counter, n);
  __threadfence();
  if (node.value == 4) asm volatile("trap;");
}

__global__ void Halves(__half2* a, __nv_bfloat162* b, double* d, Node by_value) {
  const int i = threadIdx.x;
  a[i] = __hfma2(a[i], a[i], a[i]);
  b[i] = __hadd2(b[i], b[i]);
  d[i] = d[i] / 3.0 + sqrt(d[i]) * half_pi + table[i % 3][i % 2] + by_value.value;
  float local[8];
  for (int k = 0; k < 8; ++k) local[(k * i) & 7] = by_value.data[k];
  d[i + 1] = local[i & 7];
}
