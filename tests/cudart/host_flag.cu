// NVCC:
// RUN: KERNELSMITH_PATIENCE_MS=100 %kernelsmith run %x
// A kernel that waits for a flag of the host, and one that waits for a kernel in another stream.
// OUT:
// | the kernel saw 7
// | the second stream was seen: 8
#include <cstdio>

__global__ void WaitFor(volatile int* flag, volatile int* seen) {
  while (*flag == 0) {
  }
  *seen = *flag;
}

__global__ void Set(volatile int* flag, int value) { *flag = value; }

int main() {
  volatile int* host = nullptr;
  cudaHostAlloc((void**)&host, 2 * sizeof(int), cudaHostAllocMapped);
  host[0] = 0;
  WaitFor<<<1, 1>>>(host, host + 1);
  host[0] = 7;
  cudaDeviceSynchronize();
  std::printf("the kernel saw %d\n", host[1]);

  int* flag = nullptr;
  cudaMalloc(&flag, 2 * sizeof(int));
  cudaMemset(flag, 0, 2 * sizeof(int));
  cudaStream_t first, second;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  WaitFor<<<1, 32, 0, first>>>(flag, flag + 1);
  Set<<<1, 1, 0, second>>>(flag, 8);
  int seen = 0;
  cudaMemcpy(&seen, flag + 1, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("the second stream was seen: %d\n", seen);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
