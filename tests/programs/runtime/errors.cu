// NVCC:
// RUN: %kernelsmith run %x
// Error handling: bad launches and bad calls return what CUDA returns, the last error is kept and
// cleared, and the program goes on; names and strings of errors are CUDA's.
#include "../check.h"

__global__ void Nothing(int* p) {
  if (p != nullptr) *p = 1;
}

__global__ __launch_bounds__(128) void Bounded(int* p) { p[threadIdx.x] = threadIdx.x; }

__global__ void WantsShared(int* p) {
  extern __shared__ int big[];
  big[threadIdx.x] = threadIdx.x;
  __syncthreads();
  p[threadIdx.x] = big[blockDim.x - 1 - threadIdx.x];
}

void ExpectError(const char* what, cudaError_t got, cudaError_t want) {
  if (got == want) return;
  ++g_failures;
  std::printf("FAILED: %s gave %s, expected %s\n", what, cudaGetErrorName(got),
              cudaGetErrorName(want));
}

int main() {
  int* device = nullptr;
  CUDA_OK(cudaMalloc(&device, 4096));
  cudaDeviceProp properties;
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));

  Nothing<<<1, properties.maxThreadsPerBlock + 1>>>(device);
  ExpectError("too many threads (peek)", cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
  ExpectError("too many threads", cudaGetLastError(), cudaErrorInvalidConfiguration);
  ExpectError("cleared by reading", cudaGetLastError(), cudaSuccess);
  Nothing<<<0, 32>>>(device);
  ExpectError("no blocks", cudaGetLastError(), cudaErrorInvalidConfiguration);
  Nothing<<<1, 0>>>(device);
  ExpectError("no threads", cudaGetLastError(), cudaErrorInvalidConfiguration);
  Nothing<<<dim3(1, 65536), 32>>>(device);
  ExpectError("grid too tall", cudaGetLastError(), cudaErrorInvalidConfiguration);
  Nothing<<<1, dim3(1, 1, 65)>>>(device);
  ExpectError("block too deep", cudaGetLastError(), cudaErrorInvalidConfiguration);
  Bounded<<<1, 256>>>(device);
  ExpectError("above the launch bounds", cudaGetLastError(), cudaErrorInvalidValue);
  WantsShared<<<1, 32, properties.sharedMemPerBlock + 1>>>(device);
  ExpectError("too much shared memory", cudaGetLastError(), cudaErrorInvalidValue);

  // With the attribute set, more than 48 KB may be used.
  const int large = 100 * 1024;
  CUDA_OK(cudaFuncSetAttribute(WantsShared, cudaFuncAttributeMaxDynamicSharedMemorySize, large));
  WantsShared<<<1, 32, large>>>(device);
  LAUNCH_OK();
  std::vector<int> got(32), want(32);
  CUDA_OK(cudaMemcpy(got.data(), device, sizeof(int) * 32, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) want[i] = 31 - i;
  ExpectEqual("large shared memory", got, want);
  ExpectError(
      "more than the device has",
      cudaFuncSetAttribute(WantsShared, cudaFuncAttributeMaxDynamicSharedMemorySize, 10 << 20),
      cudaErrorInvalidValue);
  cudaGetLastError();

  ExpectError("no such device", cudaSetDevice(99), cudaErrorInvalidDevice);
  cudaGetLastError();
  int host = 0;
  ExpectError("free of host memory", cudaFree(&host), cudaErrorInvalidValue);
  cudaGetLastError();
  ExpectError("copy with a bad kind", cudaMemcpy(device, &host, 4, static_cast<cudaMemcpyKind>(77)),
              cudaErrorInvalidMemcpyDirection);
  cudaGetLastError();
  void* huge = nullptr;
  ExpectError("too much memory", cudaMalloc(&huge, size_t{1} << 50), cudaErrorMemoryAllocation);
  ExpectError("it is the last error too", cudaGetLastError(), cudaErrorMemoryAllocation);
  ExpectError("null pointer for the result", cudaMalloc(static_cast<void**>(nullptr), 4),
              cudaErrorInvalidValue);
  cudaGetLastError();

  Expect(std::strcmp(cudaGetErrorName(cudaErrorInvalidConfiguration),
                     "cudaErrorInvalidConfiguration") == 0,
         "name");
  Expect(std::strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration),
                     "invalid configuration argument") == 0,
         "string");
  Expect(std::strcmp(cudaGetErrorString(cudaErrorIllegalAddress),
                     "an illegal memory access was encountered") == 0,
         "string of illegal address");
  Expect(std::strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0, "string of success");

  // After all of this the device still works.
  Bounded<<<1, 128>>>(device);
  LAUNCH_OK();
  CUDA_OK(cudaFree(device));
  std::printf("%s has %d threads per block\n",
              properties.maxThreadsPerBlock == 1024 ? "the device" : "FAILED: it",
              properties.maxThreadsPerBlock);
  return Finish();
}
