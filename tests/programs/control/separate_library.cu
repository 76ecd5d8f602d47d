// The second file of separate_compilation.cu.
#include <cuda_runtime.h>

__device__ int g_library_calls = 1000;
__constant__ int g_library_table[8] = {1, 1, 1, 1, 1, 1, 1, 1};

__device__ int LibraryMix(int x) {
  atomicAdd(&g_library_calls, 1);
  return x * 3 + 1;
}

static __device__ int Shifted(int x) { return x - 50; }
__device__ int (*g_library_function)(int) = Shifted;

static __device__ int Twice(int x) { return 20 * x; }

__global__ void LibraryKernel(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = Twice(i);
}
