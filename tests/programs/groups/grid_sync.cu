// NVCC:
// RUN: %kernelsmith run %x
// Cooperative launches: grid-wide barriers between the phases of a reduction and of a stencil, and
// the numbers that a grid group gives.
#include <cooperative_groups.h>

#include "../check.h"

namespace cg = cooperative_groups;

__global__ void SumInOneLaunch(const int* in, int n, int* parts, long long* out) {
  cg::grid_group grid = cg::this_grid();
  __shared__ int block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  int sum = 0;
  for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
  atomicAdd(&block_sum, sum);
  __syncthreads();
  if (threadIdx.x == 0) parts[blockIdx.x] = block_sum;
  grid.sync();
  if (grid.thread_rank() == 0) {
    long long total = 0;
    for (int b = 0; b < gridDim.x; ++b) total += parts[b];
    *out = total;
  }
}

__global__ void Smooth(float* a, float* b, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  for (int s = 0; s < steps; ++s) {
    for (int i = static_cast<int>(grid.thread_rank()); i < n;
         i += static_cast<int>(grid.num_threads())) {
      const float left = a[i > 0 ? i - 1 : n - 1], right = a[i < n - 1 ? i + 1 : 0];
      b[i] = 0.25f * left + 0.5f * a[i] + 0.25f * right;
    }
    grid.sync();
    float* swap = a;
    a = b;
    b = swap;
  }
}

__global__ void Numbers(unsigned* out) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  const unsigned rank = static_cast<unsigned>(grid.thread_rank());
  out[4 * rank] = rank;
  out[4 * rank + 1] = static_cast<unsigned>(grid.size());
  out[4 * rank + 2] = block.thread_rank();
  out[4 * rank + 3] = grid.is_valid() ? static_cast<unsigned>(grid.num_blocks()) : 0;
  grid.sync();
}

int main() {
  int supported = 0;
  CUDA_OK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
  Expect(supported == 1, "cooperative launch is supported");

  int n = 5000;
  Random random(281);
  const std::vector<int> in = random.Ints(n, -10, 1000);
  long long want = 0;
  for (int value : in) want += value;
  DeviceArray<int> device(in), parts(12);
  DeviceArray<long long> out(1);
  int *pin = device.data(), *pparts = parts.data();
  long long* pout = out.data();
  void* arguments[] = {&pin, &n, &pparts, &pout};
  CUDA_OK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(SumInOneLaunch), dim3(12), dim3(96),
                                      arguments));
  LAUNCH_OK();
  ExpectEqual("sum", out.Get()[0], want);

  int m = 777, steps = 9;
  std::vector<float> line(m, 0.0f);
  for (int i = 0; i < m; i += 5) line[i] = static_cast<float>(i);
  DeviceArray<float> a(line), b(m);
  float *pa = a.data(), *pb = b.data();
  void* smooth[] = {&pa, &pb, &m, &steps};
  CUDA_OK(cudaLaunchCooperativeKernel(Smooth, dim3(6), dim3(64), smooth, 0, nullptr));
  LAUNCH_OK();
  for (int s = 0; s < steps; ++s) {
    std::vector<float> next(m);
    for (int i = 0; i < m; ++i) {
      // The kernel's sums contract into fma; all products here are exact, so the order alone
      // matters.
      const float side = std::fma(0.5f, line[i], 0.25f * line[i > 0 ? i - 1 : m - 1]);
      next[i] = std::fma(0.25f, line[i < m - 1 ? i + 1 : 0], side);
    }
    line = next;
  }
  ExpectNear("smooth", b.Get(), line, 1e-6, 1e-6);

  DeviceArray<unsigned> numbers(4 * 2 * 3 * 32);
  unsigned* pnumbers = numbers.data();
  void* list[] = {&pnumbers};
  CUDA_OK(cudaLaunchCooperativeKernel(Numbers, dim3(2, 3), dim3(8, 4), list));
  LAUNCH_OK();
  std::vector<unsigned> want_numbers;
  for (unsigned r = 0; r < 192; ++r) want_numbers.insert(want_numbers.end(), {r, 192, r % 32, 6});
  ExpectEqual("numbers", numbers.Get(), want_numbers);

  // More blocks than fit at once cannot be launched cooperatively.
  int per_sm = 0;
  cudaDeviceProp properties;
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, Smooth, 1024, 0));
  const cudaError_t error = cudaLaunchCooperativeKernel(
      Smooth, dim3(per_sm * properties.multiProcessorCount + 1), dim3(1024), smooth, 0, nullptr);
  ExpectEqual("too many blocks", static_cast<int>(error),
              static_cast<int>(cudaErrorCooperativeLaunchTooLarge));
  cudaGetLastError();
  std::printf("sum %lld over 12 blocks\n", want);
  return Finish();
}
