#include <cstdio>

__device__ int Twice(int x);
extern __device__ int counter;

static __device__ int factor = 1000;  // not the other file's

__global__ void UseOtherFile(int* p) {
  p[threadIdx.x] = Twice(threadIdx.x) + (factor - 1000);
  atomicAdd(&counter, 1);
}

int CountedAfterHundredMore();

int main() {
  int* p = nullptr;
  cudaMalloc(&p, 128);
  UseOtherFile<<<1, 32>>>(p);
  int host[32] = {};
  cudaMemcpy(host, p, 128, cudaMemcpyDeviceToHost);
  std::printf("twice 5 is %d, counted %d\n", host[5], CountedAfterHundredMore());
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
