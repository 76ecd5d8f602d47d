// NVCC:
// TIMEOUT: 600
// RUN: KERNELSMITH_ENGINE=interpreter %kernelsmith run --watchdog 1 %x
// Two warps that hand something to one another, and only wait most of the time: that is progress,
// however long it takes. By atomics and by mbarriers. OUT: | 1600000 turns by atomics | 1600000
// turns by mbarriers
#include <cstdint>
#include <cstdio>

constexpr int kByAtomics = 800'000;  // more than a second of the interpreter
constexpr int kByMbarriers = 800'000;

__global__ void ByAtomics(int* turns) {
  __shared__ int turn;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  if (threadIdx.x % 32 != 0) return;
  const int own = threadIdx.x / 32;
  for (int round = 0; round < kByAtomics; ++round) {
    while (atomicAdd(&turn, 0) % 2 != own) {
    }
    __threadfence_block();
    ++*turns;
    __threadfence_block();
    atomicAdd(&turn, 1);
  }
}

__device__ uint32_t Shared(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void Wait(const uint64_t* barrier, uint32_t parity) {
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(Shared(barrier)), "r"(parity)
        : "memory");
  }
}

__device__ void Arrive(const uint64_t* barrier) {
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(Shared(barrier))
               : "memory");
}

__global__ void ByMbarriers(int* turns) {
  __shared__ uint64_t full, empty;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(Shared(&full)));
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(Shared(&empty)));
  }
  __syncthreads();
  if (threadIdx.x % 32 != 0) return;
  const bool producer = threadIdx.x == 0;
  for (int round = 0; round < kByMbarriers; ++round) {
    if (producer && round > 0) Wait(&empty, (round - 1) % 2);
    if (!producer) Wait(&full, round % 2);
    ++*turns;
    Arrive(producer ? &full : &empty);
  }
}

int main() {
  int* turns = nullptr;
  cudaMallocManaged(&turns, sizeof *turns);
  *turns = 0;
  ByAtomics<<<1, 64>>>(turns);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::printf("%d turns by atomics\n", *turns);
  *turns = 0;
  ByMbarriers<<<1, 64>>>(turns);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::printf("%d turns by mbarriers\n", *turns);
}
