// NVCC: --default-stream per-thread
// RUN: KERNELSMITH_PATIENCE_MS=100 %kernelsmith run %x
// Stream 0 is each thread's own: a kernel of one thread can wait for that of another.
// OUT:
// | seen 5
#include <cstdio>
#include <thread>

__global__ void WaitFor(volatile int* flag, volatile int* seen) {
  while (*flag == 0) {
  }
  *seen = *flag;
}

__global__ void Set(volatile int* flag, int value) { *flag = value; }

int main() {
  int* flag = nullptr;
  cudaMallocManaged(&flag, 2 * sizeof(int));
  flag[0] = flag[1] = 0;
  std::thread waiter([&] {
    WaitFor<<<1, 1>>>(flag, flag + 1);
    cudaStreamSynchronize(0);
  });
  std::thread setter([&] {
    Set<<<1, 1>>>(flag, 5);
    cudaStreamSynchronize(0);
  });
  waiter.join();
  setter.join();
  std::printf("seen %d\n", flag[1]);
  return cudaGetLastError() == cudaSuccess && flag[1] == 5 ? 0 : 1;
}
