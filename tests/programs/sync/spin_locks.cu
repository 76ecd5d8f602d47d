// NVCC:
// RUN: %kernelsmith run %x
// Spin locks between lanes of one warp, between warps and between blocks: plain test-and-set in a
// loop, a ticket lock, and a per-bucket lock. Mutual exclusion is seen in counters that are not
// updated atomically.
#include "../check.h"

// The form that deadlocks without forward progress of diverged lanes: the winner must leave the
// loop and release while the losers spin.
__global__ void LanesPlainSpin(int* lock, volatile int* counter) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  *counter = *counter + 1;
  __threadfence();
  atomicExch(lock, 0);
}

__global__ void LanesDoneFlag(int* lock, volatile int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *counter = *counter + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

struct TicketLock {
  unsigned next, serving;
};

__global__ void OneThreadPerBlock(TicketLock* lock, volatile unsigned* log, volatile int* length) {
  __shared__ int scratch[64];
  scratch[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned ticket = atomicAdd(&lock->next, 1u);
    while (*reinterpret_cast<volatile unsigned*>(&lock->serving) != ticket) {
    }
    __threadfence();
    log[*length] = ticket * 1000 + scratch[63];
    *length = *length + 1;
    __threadfence();
    atomicAdd(&lock->serving, 1u);
  }
  __syncthreads();
}

__global__ void WarpsInSharedMemory(int* out) {
  __shared__ int lock;
  __shared__ volatile int turns, last_warp;
  if (threadIdx.x == 0) {
    lock = 0;
    turns = 0;
    last_warp = -1;
  }
  __syncthreads();
  const int warp = threadIdx.x / 32;
  for (int round = 0; round < 5; ++round) {
    if (threadIdx.x % 32 == 0) {
      while (atomicExch(&lock, 1) != 0) __nanosleep(20);
      __threadfence_block();
      turns = turns + 1;
      last_warp = warp;
      __threadfence_block();
      atomicExch(&lock, 0);
    }
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    out[0] = turns;
    out[1] = last_warp;
  }
}

// Many locks: every thread adds to two buckets, taking both locks in order of address.
__global__ void Transfers(int* locks, int* balances, int buckets, int rounds) {
  unsigned state = blockIdx.x * blockDim.x + threadIdx.x + 1;
  for (int r = 0; r < rounds; ++r) {
    state = state * 1664525u + 1013904223u;
    const int from = (state >> 8) % buckets, to = (state >> 20) % buckets;
    if (from == to) continue;
    const int first = min(from, to), second = max(from, to);
    bool done = false;
    while (!done) {
      if (atomicCAS(&locks[first], 0, 1) == 0) {
        if (atomicCAS(&locks[second], 0, 1) == 0) {
          __threadfence();
          volatile int* b = balances;
          b[from] = b[from] - 3;
          b[to] = b[to] + 3;
          __threadfence();
          atomicExch(&locks[second], 0);
          done = true;
        }
        atomicExch(&locks[first], 0);
      }
    }
  }
}

int main() {
  DeviceArray<int> lock(1), counter(1);
  for (int blocks : {1, 3}) {
    for (int threads : {32, 96}) {
      lock.Fill(0);
      counter.Fill(0);
      LanesPlainSpin<<<blocks, threads>>>(lock.data(), counter.data());
      LAUNCH_OK();
      ExpectEqual("plain spin", counter.Get()[0], blocks * threads);
      counter.Fill(0);
      LanesDoneFlag<<<blocks, threads>>>(lock.data(), counter.data());
      LAUNCH_OK();
      ExpectEqual("done flag", counter.Get()[0], blocks * threads);
    }
  }

  const int blocks = 20;
  DeviceArray<TicketLock> ticket(1);
  DeviceArray<unsigned> log(blocks);
  DeviceArray<int> length(1);
  ticket.Fill(0);
  length.Fill(0);
  OneThreadPerBlock<<<blocks, 64>>>(ticket.data(), log.data(), length.data());
  LAUNCH_OK();
  std::vector<unsigned> want;
  for (unsigned t = 0; t < blocks; ++t) want.push_back(t * 1000 + 63);
  ExpectEqual("tickets in order", log.Get(), want);

  DeviceArray<int> out(2);
  WarpsInSharedMemory<<<1, 256>>>(out.data());
  LAUNCH_OK();
  const std::vector<int> turns = out.Get();
  ExpectEqual("turns", turns[0], 8 * 5);
  Expect(turns[1] >= 0 && turns[1] < 8, "the last warp is one of the eight");

  const int buckets = 13;
  DeviceArray<int> locks(buckets), balances(std::vector<int>(buckets, 1000));
  locks.Fill(0);
  Transfers<<<3, 64>>>(locks.data(), balances.data(), buckets, 4);
  LAUNCH_OK();
  std::vector<int> want_balances(buckets, 1000);
  for (unsigned t = 0; t < 192; ++t) {
    unsigned state = t + 1;
    for (int r = 0; r < 4; ++r) {
      state = state * 1664525u + 1013904223u;
      want_balances[(state >> 8) % buckets] -= 3;
      want_balances[(state >> 20) % buckets] += 3;
    }
  }
  ExpectEqual("balances", balances.Get(), want_balances);
  std::printf("%d transfers, balance of bucket 0: %d\n", 192 * 4, want_balances[0]);
  return Finish();
}
