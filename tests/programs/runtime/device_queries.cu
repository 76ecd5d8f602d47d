// NVCC:
// RUN: %kernelsmith run %x
// What the runtime says about device and kernels: properties that hang together, attributes of
// functions, occupancy, limits, and clocks that go forward in a kernel.
#include "../check.h"

__global__ void Plain(int* p) { p[threadIdx.x] = threadIdx.x; }

__global__ __launch_bounds__(256, 2) void Shared(int* p) {
  __shared__ int tile[1024];
  tile[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void Clocks(long long* out) {
  const long long start = clock64();
  const unsigned long long wall = [] {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
  }();
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += i * static_cast<int>(start & 1);
  __nanosleep(100);
  const long long end = clock64();
  unsigned long long later;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
  out[0] = end - start;
  out[1] = static_cast<long long>(later - wall);
  out[2] = sum;
  unsigned sm, warps;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(warps));
  out[3] = sm < warps;
  out[4] = warpSize;
}

int main() {
  int count = 0, device = -1, runtime = 0, driver = 0;
  CUDA_OK(cudaGetDeviceCount(&count));
  CUDA_OK(cudaSetDevice(0));
  CUDA_OK(cudaGetDevice(&device));
  CUDA_OK(cudaRuntimeGetVersion(&runtime));
  CUDA_OK(cudaDriverGetVersion(&driver));
  Expect(count >= 1 && device == 0, "there is a device 0");
  Expect(runtime / 1000 == CUDART_VERSION / 1000 && driver >= runtime, "versions fit");
  cudaDeviceProp p;
  CUDA_OK(cudaGetDeviceProperties(&p, 0));
  Expect(p.warpSize == 32 && p.maxThreadsPerBlock == 1024, "warp and block size");
  Expect(p.major >= 7 && p.multiProcessorCount > 0 && p.totalGlobalMem > (size_t{1} << 30),
         "a present-day GPU");
  Expect(std::strlen(p.name) > 0, "it has a name");
  const struct {
    cudaDeviceAttr attribute;
    long long property;
    const char* name;
  } pairs[] = {
      {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock, "threads per block"},
      {cudaDevAttrMultiProcessorCount, p.multiProcessorCount, "multiprocessors"},
      {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<long long>(p.sharedMemPerBlock),
       "shared memory"},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<long long>(p.sharedMemPerBlockOptin),
       "shared, opt in"},
      {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock, "registers"},
      {cudaDevAttrComputeCapabilityMajor, p.major, "major"},
      {cudaDevAttrComputeCapabilityMinor, p.minor, "minor"},
      {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor,
       "threads per multiprocessor"},
      {cudaDevAttrL2CacheSize, p.l2CacheSize, "L2"},
      {cudaDevAttrMaxGridDimX, p.maxGridSize[0], "grid x"},
      {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2], "block z"},
  };
  for (const auto& pair : pairs) {
    int value = -1;
    CUDA_OK(cudaDeviceGetAttribute(&value, pair.attribute, 0));
    ExpectEqual(pair.name, static_cast<long long>(value), pair.property);
  }

  cudaFuncAttributes f;
  CUDA_OK(cudaFuncGetAttributes(&f, Shared));
  ExpectEqual("static shared memory", f.sharedSizeBytes, size_t{4096});
  ExpectEqual("launch bounds", f.maxThreadsPerBlock, 256);
  CUDA_OK(cudaFuncGetAttributes(&f, Plain));
  ExpectEqual("no static shared memory", f.sharedSizeBytes, size_t{0});
  Expect(f.maxThreadsPerBlock == 1024 && f.numRegs > 0 && f.ptxVersion >= 70,
         "attributes of a plain kernel");

  int blocks = 0, grid = 0, block = 0;
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, Plain, 256, 0));
  Expect(blocks >= 1 && blocks * 256 <= p.maxThreadsPerMultiProcessor,
         "occupancy within the limit");
  int fewer = 0;
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, Plain, 256, 40 * 1024));
  ExpectEqual(
      "limited by shared memory", fewer,
      static_cast<int>(std::min<size_t>(blocks, p.sharedMemPerMultiprocessor / (41 * 1024))));
  CUDA_OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, Plain, 0, 0));
  Expect(block >= 32 && block <= 1024 && block % 32 == 0 && grid >= p.multiProcessorCount,
         "suggested launch");

  size_t limit = 0;
  CUDA_OK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20));
  CUDA_OK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
  Expect(limit >= (2 << 20), "the limit was set");
  CUDA_OK(cudaFuncSetCacheConfig(Shared, cudaFuncCachePreferShared));
  CUDA_OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));

  DeviceArray<long long> clocks(5);
  Clocks<<<1, 1>>>(clocks.data());
  LAUNCH_OK();
  const auto c = clocks.Get();
  Expect(c[0] > 0, "clock64 goes forward");
  Expect(c[1] >= 0, "globaltimer does not go back");
  Expect(c[3] == 1, "smid is below nsmid");
  ExpectEqual("warp size in the kernel", c[4], 32ll);
  std::printf("compute capability %d.%d\n", p.major, p.minor);
  return Finish();
}
