// NVCC:
// RUN: KERNELSMITH_PATIENCE_MS=100 %kernelsmith run --watchdog 1 %x
// A kernel that waits for what never comes is ended, with a message.
// OUT:
// | cudaErrorLaunchTimeout
// ERR:
// | kernelsmith: {{.*}}Forever{{.*}}
#include <cstdio>

__global__ void Forever(volatile int* flag) {
  while (*flag == 0) {
  }
}

int main() {
  int* flag = nullptr;
  cudaMalloc(&flag, sizeof(int));
  cudaMemset(flag, 0, sizeof(int));
  Forever<<<1, 64>>>(flag);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
