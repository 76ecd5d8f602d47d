// NVCC:
// RUN: %kernelsmith run /bin/sh -c 'KERNELSMITH_ENGINE=fast KERNELSMITH_PATIENCE_MS=-1 exec %x'
// RUN: %kernelsmith run /bin/sh -c 'KERNELSMITH_ENGINE=fast KERNELSMITH_QUIET=1 exec %x'
// A program of others runs with the defaults instead of values that make no sense, and is told so.
// OUT:
// | 42
// | 42
// ERR:
// | kernelsmith: KERNELSMITH_ENGINE must be auto, jit or interpreter, not 'fast'
// | kernelsmith: KERNELSMITH_PATIENCE_MS must be a number of at least 0, not '-1'
#include <cstdio>

__global__ void Answer(int* out) { *out = 42; }

int main() {
  int* device = nullptr;
  int host = 0;
  cudaMalloc(&device, sizeof(int));
  Answer<<<1, 1>>>(device);
  cudaMemcpy(&host, device, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", host);
}
