// NVCC:
// RUN: %kernelsmith run %x
// A kernel with an instruction that the virtual GPU lacks is named with its line, others of the same
// program run, and the error stays: a program that looks at no launch error must not pass.
// EXIT: 1
// OUT:
// | before: cudaSuccess, 1
// | launch: cudaErrorNotSupported
// | synchronise: cudaErrorNotSupported
// | copy: cudaErrorNotSupported
// ERR:
// | kernelsmith: PTX of {{.*}}unsupported_kernel.cu:{{[0-9]+}}:{{[0-9]+}}: error: unsupported instruction 'multimem.red{{.*}}
#include <cstdio>

__global__ void Reduce(int* p) {
  asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(p));
}
__global__ void One(int* p) { *p = 1; }

int main() {
  int* p = nullptr;
  int one = 0;
  cudaMalloc(&p, sizeof(int));
  One<<<1, 1>>>(p);
  const cudaError_t before = cudaMemcpy(&one, p, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("before: %s, %d\n", cudaGetErrorName(before), one);
  Reduce<<<1, 1>>>(p);
  std::printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("synchronise: %s\n", cudaGetErrorName(error));
  std::printf("copy: %s\n", cudaGetErrorName(cudaMemset(p, 0, sizeof(int))));
  return error == cudaSuccess ? 0 : 1;
}
