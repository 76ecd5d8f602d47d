// The forms of the report, exit codes, and programs that end in other ways than they should.
// NVCC: -g -lineinfo -std=c++17
// RUN: %python %S/check_reports.py %kernelsmith %x
// OUT:
// | all as it should be
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

__global__ void Outside(int* a, int n) { a[n + threadIdx.x] = 1; }
__global__ void Race(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = 1;
  a[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void Spin(volatile int* flag) {
  while (*flag == 0) {
  }
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "clean";
  int* a = nullptr;
  cudaMalloc(&a, 64 * sizeof(int));
  cudaMemset(a, 0, 64 * sizeof(int));
  std::puts("the program's own output");
  std::fflush(stdout);
  if (std::strcmp(mode, "clean") == 0) {
    cudaFree(a);
    return 7;
  }
  if (std::strcmp(mode, "spin") == 0) {
    Spin<<<1, 32>>>(a);
    cudaDeviceSynchronize();
    return 0;
  }
  if (std::strcmp(mode, "leak") == 0) return 3;
  Outside<<<1, 32>>>(a, 64);
  cudaDeviceSynchronize();
  Race<<<1, 64>>>(a);
  cudaDeviceSynchronize();
  if (std::strcmp(mode, "abort") == 0) std::abort();
  if (std::strcmp(mode, "kill") == 0) ::kill(::getpid(), SIGKILL);
  if (std::strcmp(mode, "forever") == 0) {
    while (true) ::pause();
  }
  return 0;
}
