// No kernel, and with an argument the only call of CUDA.
#include <cuda_runtime.h>

#include <cstdio>

int main(int count, char**) {
  std::puts("hello");
  std::fflush(stdout);
  int devices = 0;
  if (count > 1) std::printf("error %d\n", cudaGetDeviceCount(&devices));
  return 5;
}
