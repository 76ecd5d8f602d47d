// NVCC: -rdc=true %S/separate_library.cu
// RUN: %kernelsmith run %x
// Device code linked from two files: functions, variables, constants and function pointers of one
// used by kernels of the other, and a kernel there launched from here.
#include "../check.h"

extern __device__ int LibraryMix(int x);
extern __device__ int g_library_calls;
extern __constant__ int g_library_table[8];
extern __device__ int (*g_library_function)(int);
__global__ void LibraryKernel(int* out, int n);

// Local to this file, though the library has one of the same name.
static __device__ int Twice(int x) { return 2 * x; }

__global__ void UseLibrary(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = LibraryMix(i) + g_library_table[i % 8] + g_library_function(i) + Twice(i);
}

int main() {
  const int n = 100;
  const int table[8] = {5, 6, 7, 8, 9, 10, 11, 12};
  CUDA_OK(cudaMemcpyToSymbol(g_library_table, table, sizeof table));
  DeviceArray<int> out(n);
  UseLibrary<<<2, 64>>>(out.data(), n);
  LAUNCH_OK();
  std::vector<int> want;
  for (int i = 0; i < n; ++i) want.push_back((i * 3 + 1) + table[i % 8] + (i - 50) + 2 * i);
  ExpectEqual("through the library", out.Get(), want);
  int calls = 0;
  CUDA_OK(cudaMemcpyFromSymbol(&calls, g_library_calls, sizeof calls));
  ExpectEqual("calls counted there", calls, n + 1000);

  LibraryKernel<<<2, 64>>>(out.data(), n);
  LAUNCH_OK();
  want.clear();
  for (int i = 0; i < n; ++i) want.push_back(i * 20);
  ExpectEqual("kernel of the library", out.Get(), want);
  std::printf("%d calls\n", calls);
  return Finish();
}
