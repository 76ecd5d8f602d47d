// NVCC:
// RUN: %kernelsmith run %x
// Host and device at the same time: a kernel that waits for a flag which the host sets after the
// launch, a ping-pong over mapped memory, a kernel that waits for one in another stream, and
// system-wide atomics on managed memory.
#include <atomic>

#include "../check.h"

__global__ void WaitForHost(volatile int* flag, int* out) {
  while (*flag == 0) {
  }
  __threadfence_system();
  *out = *flag * 2;
}

__global__ void PingPong(volatile int* ball, volatile int* log, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    while (*ball != 2 * r + 1) {
    }
    log[r] = *ball;
    __threadfence_system();
    *ball = 2 * r + 2;
  }
}

__global__ void WaitForOther(volatile int* flag, int* out) {
  while (*flag == 0) {
  }
  __threadfence();
  *out = 77;
}

__global__ void SetFlag(volatile int* flag) { *flag = 1; }

__global__ void AddSystemWide(int* counter) { atomicAdd_system(counter, 1); }

int main() {
  int* mapped = nullptr;
  CUDA_OK(cudaHostAlloc(reinterpret_cast<void**>(&mapped), 64 * sizeof(int), cudaHostAllocMapped));
  std::memset(mapped, 0, 64 * sizeof(int));
  volatile int* flag = mapped;
  DeviceArray<int> out(1);
  out.Fill(0);
  WaitForHost<<<1, 1>>>(mapped, out.data());
  CUDA_OK(cudaGetLastError());
  *flag = 21;
  LAUNCH_OK();
  ExpectEqual("the host's flag", out.Get()[0], 42);

  const int rounds = 10;
  volatile int* ball = mapped + 1;
  PingPong<<<1, 1>>>(mapped + 1, mapped + 2, rounds);
  for (int r = 0; r < rounds; ++r) {
    *ball = 2 * r + 1;
    while (*ball != 2 * r + 2) {
    }
  }
  LAUNCH_OK();
  std::vector<int> log(mapped + 2, mapped + 2 + rounds), want;
  for (int r = 0; r < rounds; ++r) want.push_back(2 * r + 1);
  ExpectEqual("ping-pong", log, want);

  cudaStream_t a, b;
  CUDA_OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CUDA_OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  DeviceArray<int> device_flag(1);
  device_flag.Fill(0);
  WaitForOther<<<1, 1, 0, a>>>(device_flag.data(), out.data());
  SetFlag<<<1, 1, 0, b>>>(device_flag.data());
  CUDA_OK(cudaStreamSynchronize(b));
  CUDA_OK(cudaStreamSynchronize(a));
  ExpectEqual("another stream's flag", out.Get()[0], 77);

  int* counter = nullptr;
  CUDA_OK(cudaMallocManaged(&counter, sizeof(int)));
  *counter = 0;
  AddSystemWide<<<4, 64>>>(counter);
  for (int i = 0; i < 100; ++i) __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
  LAUNCH_OK();
  ExpectEqual("system-wide atomics", *counter, 356);
  CUDA_OK(cudaFree(counter));
  CUDA_OK(cudaStreamDestroy(a));
  CUDA_OK(cudaStreamDestroy(b));
  CUDA_OK(cudaFreeHost(mapped));
  std::printf("%d rounds\n", rounds);
  return Finish();
}
