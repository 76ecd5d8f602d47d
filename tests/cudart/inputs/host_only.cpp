#include <cuda_runtime.h>

#include <cstdio>

int main() {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  std::printf("devices %d\n", devices);
}
