// NVCC:
// RUN: %kernelsmith run %x
// What kernels print comes out when the host synchronises, between what the host prints.
// OUT:
// | host 1
// | host 2
// | device 1
// | device 2
// | host 3
// | device 3
// | host function
// | host 4
#include <cstdio>

__global__ void Print(int i) { printf("device %d\n", i); }

int main() {
  std::printf("host 1\n");
  Print<<<1, 1>>>(1);
  Print<<<1, 1>>>(2);
  std::printf("host 2\n");
  cudaDeviceSynchronize();
  std::printf("host 3\n");
  Print<<<1, 1>>>(3);
  cudaLaunchHostFunc(nullptr, [](void*) { std::printf("host function\n"); }, nullptr);
  cudaStreamSynchronize(nullptr);
  std::printf("host 4\n");
  Print<<<1, 1>>>(4);  // never synchronised: lost, as on a GPU
}
