// NVCC:
// RUN: %kernelsmith run %x
// What is missing says so by name at the call.
// OUT:
// | cudaErrorNotSupported: operation not supported
// | last: cudaErrorNotSupported
// ERR:
// | kernelsmith: cudaCreateTextureObject is not supported
#include <cstdio>

int main() {
  cudaResourceDesc resource{};
  cudaTextureDesc description{};
  cudaTextureObject_t texture = 0;
  const cudaError_t error = cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  std::printf("%s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
  std::printf("last: %s\n", cudaGetErrorName(cudaGetLastError()));
}
