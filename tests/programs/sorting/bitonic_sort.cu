// NVCC:
// RUN: %kernelsmith run %x
// Bitonic sort: within a block in shared memory, over global memory in steps, of key-value pairs,
// and of one warp by shuffles.
#include <algorithm>

#include "../check.h"

__device__ void Exchange(unsigned& a, unsigned& b, bool ascending) {
  if ((a > b) == ascending) {
    const unsigned t = a;
    a = b;
    b = t;
  }
}

__global__ void SortShared(unsigned* data, int n) {
  extern __shared__ unsigned keys[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) keys[i] = data[blockIdx.x * n + i];
  for (int size = 2; size <= n; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (int t = threadIdx.x; t < n / 2; t += blockDim.x) {
        const int low = 2 * t - (t & (stride - 1));
        Exchange(keys[low], keys[low + stride], (low & size) == 0);
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[blockIdx.x * n + i] = keys[i];
}

__global__ void SortStep(unsigned long long* pairs, int size, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ stride;
  if (other <= i) return;
  const unsigned long long a = pairs[i], b = pairs[other];
  if ((a > b) == ((i & size) == 0)) {
    pairs[i] = b;
    pairs[other] = a;
  }
}

__global__ void SortWarp(int* data) {
  const int lane = threadIdx.x & 31;
  int value = data[blockIdx.x * blockDim.x + threadIdx.x];
  for (int size = 2; size <= 32; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int other = __shfl_xor_sync(~0u, value, stride);
      const bool keep_small = ((lane & size) == 0) == ((lane & stride) == 0);
      value = keep_small ? min(value, other) : max(value, other);
    }
  }
  data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

int main() {
  Random random(131);
  {
    const int n = 1024, blocks = 3;
    std::vector<unsigned> keys(n * blocks);
    for (unsigned& key : keys) key = static_cast<unsigned>(random.Bits());
    DeviceArray<unsigned> device(keys);
    SortShared<<<blocks, 128, n * sizeof(unsigned)>>>(device.data(), n);
    LAUNCH_OK();
    for (int b = 0; b < blocks; ++b) std::sort(keys.begin() + b * n, keys.begin() + (b + 1) * n);
    ExpectEqual("shared", device.Get(), keys);
    std::printf("smallest key of block 0: %u\n", keys[0]);
  }
  {
    const int n = 2048;
    std::vector<unsigned long long> pairs(n);
    for (int i = 0; i < n; ++i)
      pairs[i] = static_cast<unsigned long long>(random.Below(300)) << 32 | i;
    DeviceArray<unsigned long long> device(pairs);
    for (int size = 2; size <= n; size *= 2) {
      for (int stride = size / 2; stride > 0; stride /= 2)
        SortStep<<<n / 256, 256>>>(device.data(), size, stride);
    }
    LAUNCH_OK();
    std::sort(pairs.begin(), pairs.end());
    ExpectEqual("pairs", device.Get(), pairs);
    std::printf("first pair: key %llu, value %llu\n", pairs[0] >> 32, pairs[0] & 0xffffffff);
  }
  {
    std::vector<int> values = random.Ints(32 * 20, -1000, 1000);
    DeviceArray<int> device(values);
    SortWarp<<<10, 64>>>(device.data());
    LAUNCH_OK();
    for (int w = 0; w < 20; ++w) std::sort(values.begin() + w * 32, values.begin() + (w + 1) * 32);
    ExpectEqual("warp", device.Get(), values);
  }
  return Finish();
}
