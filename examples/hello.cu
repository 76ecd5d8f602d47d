// A CUDA program that needs no GPU:
//   nvcc -cudart shared -gencode arch=compute_90,code=compute_90 examples/hello.cu -o hello
//   kernelsmith run ./hello
#include <cstdio>

__global__ void hello(int* sum) {
  const unsigned lanes = __ballot_sync(0xffffffff, threadIdx.x % 3 == 0);
  if (threadIdx.x == 0) printf("block %d of %d: lanes %08x\n", blockIdx.x, gridDim.x, lanes);
  atomicAdd(sum, __popc(lanes));
}

int main() {
  int* sum;
  cudaMallocManaged(&sum, sizeof(int));
  *sum = 0;
  hello<<<2, 32>>>(sum);
  cudaDeviceSynchronize();
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  printf("%s says %d (%s)\n", device.name, *sum, cudaGetErrorString(cudaGetLastError()));
  return *sum == 704 ? 0 : 1;
}
