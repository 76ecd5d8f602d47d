// NVCC:
// RUN: %kernelsmith run %x
// Asynchronous copies and barriers of libcu++ and cooperative groups: memcpy_async with wait, a
// barrier that counts phases with split arrive and wait, a two-stage pipeline, and warps that
// produce for others through barriers.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cuda/barrier>
#include <cuda/pipeline>

#include "../check.h"

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 128;

__global__ void GroupCopy(const int* in, int* out) {
  __shared__ int tile[kThreads];
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in + blockIdx.x * kThreads, sizeof tile);
  cg::wait(block);
  out[blockIdx.x * kThreads + threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

// Each phase adds what the neighbour had in the phase before.
__global__ void Phases(const int* in, int* out, int phases) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  __shared__ int values[2][kThreads];
  if (threadIdx.x == 0) init(&barrier, kThreads);
  __syncthreads();
  values[0][threadIdx.x] = in[threadIdx.x];
  int private_work = 0;
  for (int p = 0; p < phases; ++p) {
    Barrier::arrival_token token = barrier.arrive();
    private_work += p;  // may overlap with the others' arrival
    barrier.wait(std::move(token));
    values[(p + 1) % 2][threadIdx.x] =
        values[p % 2][threadIdx.x] + values[p % 2][(threadIdx.x + 1) % kThreads];
  }
  barrier.arrive_and_wait();
  out[threadIdx.x] = values[phases % 2][threadIdx.x] + private_work;
}

__global__ void TwoStages(const int* in, int* out, int tiles) {
  __shared__ int stage[2][kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  cg::thread_block block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  auto fetch = [&](int tile) {
    pipeline.producer_acquire();
    cuda::memcpy_async(block, stage[tile % 2], in + tile * kThreads, sizeof stage[0], pipeline);
    pipeline.producer_commit();
  };
  fetch(0);
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) fetch(tile + 1);
    pipeline.consumer_wait();
    out[tile * kThreads + threadIdx.x] = stage[tile % 2][threadIdx.x ^ 5] * 3;
    pipeline.consumer_release();
  }
}

// The first warp fills, the other three empty; `full` and `empty` are barriers of the whole block.
__global__ void Specialised(const int* in, long long* out, int tiles) {
  __shared__ int buffer[32];
  __shared__ Barrier full, empty;
  if (threadIdx.x == 0) {
    init(&full, kThreads);
    init(&empty, kThreads);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int t = 0; t < tiles; ++t) {
      empty.arrive_and_wait();
      buffer[threadIdx.x] = in[t * 32 + threadIdx.x];
      (void)full.arrive();
    }
  } else {
    long long sum = 0;
    for (int t = 0; t < tiles; ++t) {
      (void)empty.arrive();
      full.arrive_and_wait();
      sum = sum * 3 + buffer[threadIdx.x % 32];
    }
    out[threadIdx.x - 32] = sum;
  }
}

int main() {
  Random random(591);
  const int tiles = 6, n = tiles * kThreads;
  const std::vector<int> in = random.Ints(n, 0, 1000);
  DeviceArray<int> device(in), out(n), one(kThreads);
  GroupCopy<<<tiles, kThreads>>>(device.data(), out.data());
  LAUNCH_OK();
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = in[i / kThreads * kThreads + kThreads - 1 - i % kThreads];
  ExpectEqual("group copy", out.Get(), want);

  const int phases = 5;
  Phases<<<1, kThreads>>>(device.data(), one.data(), phases);
  LAUNCH_OK();
  std::vector<int> values(in.begin(), in.begin() + kThreads);
  for (int p = 0; p < phases; ++p) {
    std::vector<int> next(kThreads);
    for (int i = 0; i < kThreads; ++i) next[i] = values[i] + values[(i + 1) % kThreads];
    values = next;
  }
  for (int& value : values) value += phases * (phases - 1) / 2;
  ExpectEqual("phases", one.Get(), values);

  out.Fill(0xff);
  TwoStages<<<1, kThreads>>>(device.data(), out.data(), tiles);
  LAUNCH_OK();
  for (int i = 0; i < n; ++i) want[i] = in[i / kThreads * kThreads + (i % kThreads ^ 5)] * 3;
  ExpectEqual("two stages", out.Get(), want);

  DeviceArray<long long> sums(96);
  Specialised<<<1, kThreads>>>(device.data(), sums.data(), 10);
  LAUNCH_OK();
  std::vector<long long> want_sums(96);
  for (int i = 0; i < 96; ++i) {
    for (int t = 0; t < 10; ++t) want_sums[i] = want_sums[i] * 3 + in[t * 32 + i % 32];
  }
  ExpectEqual("specialised", sums.Get(), want_sums);
  std::printf("phase value %d\n", values[0]);
  return Finish();
}
