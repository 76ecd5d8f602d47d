// NVCC:
// RUN: CUDA_VISIBLE_DEVICES= %kernelsmith run %x && CUDA_VISIBLE_DEVICES=0 %kernelsmith run --gpu t4 %x
// OUT:
// | cudaErrorNoDevice 0
// | cudaSuccess 1 Tesla T4 7.5
#include <cstdio>

int main() {
  int count = -1;
  const cudaError_t error = cudaGetDeviceCount(&count);
  std::printf("%s %d", cudaGetErrorName(error), count);
  cudaDeviceProp properties;
  if (count > 0 && cudaGetDeviceProperties(&properties, 0) == cudaSuccess) {
    std::printf(" %s %d.%d", properties.name, properties.major, properties.minor);
  }
  std::printf("\n");
}
