// NVCC:
// RUN: %kernelsmith run %x
// What is missing says so by name at the call.
// OUT:
// | cudaErrorNotSupported: operation not supported
// | last: cudaErrorNotSupported
// ERR:
// | kernelsmith: cudaMallocMipmappedArray is not supported
#include <cstdio>

int main() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t array = nullptr;
  const cudaError_t error = cudaMallocMipmappedArray(&array, &format, make_cudaExtent(8, 8, 0), 2);
  std::printf("%s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
  std::printf("last: %s\n", cudaGetErrorName(cudaGetLastError()));
}
