#include <cstdio>

__global__ void AddOne(int* p) { p[threadIdx.x] += 1; }

int main() {
  int* p = nullptr;
  cudaMalloc(&p, 128);
  cudaMemset(p, 0, 128);
  AddOne<<<1, 32>>>(p);
  const cudaError_t launch = cudaGetLastError();
  int host[32] = {};
  cudaMemcpy(host, p, 128, cudaMemcpyDeviceToHost);
  std::printf("%s, %d\n", cudaGetErrorName(launch), host[31]);
  return launch == cudaSuccess && host[31] == 1 ? 0 : 1;
}
