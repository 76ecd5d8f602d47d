// NVCC:
// RUN: %kernelsmith run %x
// An illegal address in a kernel: reported at the next synchronisation, and by every call after it.
#include "../check.h"

__global__ void WriteFarAway(int* p, long long offset) { p[offset + threadIdx.x] = 1; }

void ExpectError(const char* what, cudaError_t got, cudaError_t want) {
  if (got == want) return;
  ++g_failures;
  std::printf("FAILED: %s gave %s, expected %s\n", what, cudaGetErrorName(got),
              cudaGetErrorName(want));
}

int main() {
  int* device = nullptr;
  CUDA_OK(cudaMalloc(&device, 1024));
  WriteFarAway<<<1, 32>>>(device, 0);
  LAUNCH_OK();
  WriteFarAway<<<1, 32>>>(device, 1ll << 40);
  ExpectError("synchronise", cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  ExpectError("last error", cudaGetLastError(), cudaErrorIllegalAddress);
  void* more = nullptr;
  ExpectError("malloc afterwards", cudaMalloc(&more, 16), cudaErrorIllegalAddress);
  int host = 0;
  ExpectError("copy afterwards", cudaMemcpy(&host, device, 4, cudaMemcpyDeviceToHost),
              cudaErrorIllegalAddress);
  WriteFarAway<<<1, 32>>>(device, 0);
  ExpectError("launch afterwards", cudaGetLastError(), cudaErrorIllegalAddress);
  ExpectError("synchronise again", cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  std::printf("%s\n", cudaGetErrorString(cudaErrorIllegalAddress));
  return Finish();
}
