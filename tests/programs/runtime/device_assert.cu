// NVCC:
// RUN: %kernelsmith run %x
// EXIT: 3
// OUT:
// | no assertion failed at first
// | cudaErrorAssert: device-side assert triggered
// ERR:
// | {{.*}}.cu:18: {{.*}} block: [1,0,0], thread: [7,0,0] Assertion `data[i] >= 0` failed.
//
// A failing assert on the device: its message names place, block and thread, and the next call
// reports cudaErrorAssert. The program then ends with its own code.
#include <cassert>

#include "../check.h"

__global__ void Check(const int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) assert(data[i] >= 0);
}

int main() {
  std::vector<int> data(100, 5);
  DeviceArray<int> good(data);
  Check<<<4, 32>>>(good.data(), 100);
  LAUNCH_OK();
  std::printf("no assertion failed at first\n");
  data[39] = -1;
  DeviceArray<int> bad(data);
  Check<<<4, 32>>>(bad.data(), 100);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
  return error == cudaErrorAssert ? 3 : 1;
}
