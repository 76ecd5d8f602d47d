// NVCC:
// RUN: %kernelsmith run %x
// Flags with fences: blocks in a chain hand a value on, a producer warp and a consumer warp share a
// ring buffer, and lanes of one warp wait for each other (which needs independent thread
// scheduling).
#include <cuda/atomic>

#include "../check.h"

__global__ void Chain(int* data, volatile int* flags) {
  if (threadIdx.x != 0) return;
  // Later blocks wait for earlier ones; those are resident or done.
  int value = 1;
  if (blockIdx.x > 0) {
    while (flags[blockIdx.x - 1] == 0) {
    }
    __threadfence();
    value = data[blockIdx.x - 1] * 3 + blockIdx.x;
  }
  data[blockIdx.x] = value % 1000003;
  __threadfence();
  flags[blockIdx.x] = 1;
}

constexpr int kSlots = 4;

__global__ void Ring(int count, long long* sums) {
  __shared__ int slots[kSlots][32];
  __shared__ int full[kSlots];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x < kSlots) full[threadIdx.x] = 0;
  __syncthreads();
  volatile int* flags = full;
  if (warp == 0) {
    for (int i = 0; i < count; ++i) {
      while (flags[i % kSlots] != 0) {
      }
      __syncwarp();
      slots[i % kSlots][lane] = i * 32 + lane;
      __threadfence_block();
      __syncwarp();
      if (lane == 0) flags[i % kSlots] = 1;
    }
  } else {
    long long sum = 0;
    for (int i = 0; i < count; ++i) {
      while (flags[i % kSlots] == 0) {
      }
      __threadfence_block();
      sum = sum * 7 % 1000000007 + slots[i % kSlots][31 - lane];
      __threadfence_block();
      __syncwarp();
      if (lane == 0) flags[i % kSlots] = 0;
      __syncwarp();
    }
    sums[lane] = sum;
  }
}

// Lane k waits until lane k + 1 has written: the order runs against the lane numbers.
__global__ void LanesBackwards(int* out) {
  __shared__ volatile int ready[33];
  const int lane = threadIdx.x;
  ready[lane] = 0;
  if (lane == 0) ready[32] = 1;
  __syncwarp();
  while (ready[lane + 1] == 0) {
  }
  ready[lane] = ready[lane + 1] + 1;
  out[lane] = ready[lane];
}

// Message passing with libcu++ atomics: release and acquire instead of fences.
__global__ void AcquireRelease(int* payload, int* flag, int* seen) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    for (int i = 0; i < 16; ++i) payload[i] = i * i;
    ready.store(1, cuda::std::memory_order_release);
  } else {
    while (ready.load(cuda::std::memory_order_acquire) == 0) {
    }
    int sum = 0;
    for (int i = 0; i < 16; ++i) sum += payload[i];
    seen[blockIdx.x - 1] = sum;
  }
}

int main() {
  const int blocks = 40;
  DeviceArray<int> data(blocks), flags(blocks);
  flags.Fill(0);
  Chain<<<blocks, 32>>>(data.data(), flags.data());
  LAUNCH_OK();
  std::vector<int> want(blocks);
  long long value = 1;
  for (int b = 0; b < blocks; ++b) {
    if (b > 0) value = value * 3 + b;
    value %= 1000003;
    want[b] = static_cast<int>(value);
  }
  ExpectEqual("chain", data.Get(), want);

  const int count = 30;
  DeviceArray<long long> sums(32);
  Ring<<<1, 64>>>(count, sums.data());
  LAUNCH_OK();
  std::vector<long long> want_sums(32);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < count; ++i)
      want_sums[lane] = want_sums[lane] * 7 % 1000000007 + i * 32 + 31 - lane;
  }
  ExpectEqual("ring", sums.Get(), want_sums);

  DeviceArray<int> order(32);
  LanesBackwards<<<1, 32>>>(order.data());
  LAUNCH_OK();
  std::vector<int> want_order;
  for (int lane = 0; lane < 32; ++lane) want_order.push_back(33 - lane);
  ExpectEqual("lanes", order.Get(), want_order);

  DeviceArray<int> payload(16), flag(1), seen(6);
  flag.Fill(0);
  AcquireRelease<<<7, 32>>>(payload.data(), flag.data(), seen.data());
  LAUNCH_OK();
  ExpectEqual("acquire and release", seen.Get(), std::vector<int>(6, 1240));
  std::printf("end of the chain: %d\n", want[blocks - 1]);
  return Finish();
}
