// NVCC:
// RUN: %kernelsmith run %x
// Lock-free structures: a hash table with linear probing (32 and 64-bit compare-and-swap), a
// bounded queue with many producers and consumers, and a stack with a version counter.
#include <algorithm>
#include <map>

#include "../check.h"

constexpr unsigned kEmpty = 0xffffffffu;

__device__ unsigned Hash(unsigned key) {
  key ^= key >> 16;
  key *= 0x85ebca6bu;
  key ^= key >> 13;
  key *= 0xc2b2ae35u;
  return key ^ key >> 16;
}

__global__ void Count(const unsigned* keys, int n, unsigned* slots, int* counts, unsigned mask) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (unsigned slot = Hash(keys[i]) & mask;; slot = (slot + 1) & mask) {
    const unsigned old = atomicCAS(&slots[slot], kEmpty, keys[i]);
    if (old == kEmpty || old == keys[i]) {
      atomicAdd(&counts[slot], 1);
      return;
    }
  }
}

__global__ void Lookup(const unsigned* keys, int n, const unsigned* slots, const int* counts,
                       unsigned mask, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = Hash(keys[i]) & mask;
  while (slots[slot] != keys[i] && slots[slot] != kEmpty) slot = (slot + 1) & mask;
  out[i] = slots[slot] == kEmpty ? 0 : counts[slot];
}

// Vyukov's bounded queue: each cell has a sequence number that says whose turn it is.
struct Cell {
  unsigned sequence, value;
};

struct Queue {
  unsigned head, tail;
};

constexpr unsigned kCells = 64;

__device__ bool Push(Queue* queue, Cell* cells, unsigned value) {
  unsigned position = *reinterpret_cast<volatile unsigned*>(&queue->tail);
  while (true) {
    Cell* cell = &cells[position % kCells];
    const int turn =
        static_cast<int>(*reinterpret_cast<volatile unsigned*>(&cell->sequence) - position);
    if (turn == 0) {
      const unsigned old = atomicCAS(&queue->tail, position, position + 1);
      if (old == position) {
        __threadfence();  // acquires the cell from the one who emptied it
        cell->value = value;
        __threadfence();
        atomicExch(&cell->sequence, position + 1);
        return true;
      }
      position = old;
    } else if (turn < 0) {
      return false;  // full
    } else {
      position = *reinterpret_cast<volatile unsigned*>(&queue->tail);
    }
  }
}

__device__ bool Pop(Queue* queue, Cell* cells, unsigned* value) {
  unsigned position = *reinterpret_cast<volatile unsigned*>(&queue->head);
  while (true) {
    Cell* cell = &cells[position % kCells];
    const int turn =
        static_cast<int>(*reinterpret_cast<volatile unsigned*>(&cell->sequence) - (position + 1));
    if (turn == 0) {
      const unsigned old = atomicCAS(&queue->head, position, position + 1);
      if (old == position) {
        __threadfence();
        *value = *reinterpret_cast<volatile unsigned*>(&cell->value);
        __threadfence();
        atomicExch(&cell->sequence, position + kCells);
        return true;
      }
      position = old;
    } else if (turn < 0) {
      return false;  // empty
    } else {
      position = *reinterpret_cast<volatile unsigned*>(&queue->head);
    }
  }
}

// Even blocks produce, odd blocks consume.
__global__ void UseQueue(Queue* queue, Cell* cells, int* taken) {
  const unsigned id = blockIdx.x / 2 * blockDim.x + threadIdx.x;
  if (blockIdx.x % 2 == 0) {
    while (!Push(queue, cells, id)) {
    }
  } else {
    unsigned value;
    while (!Pop(queue, cells, &value)) {
    }
    atomicAdd(&taken[value], 1);
  }
}

// A stack of indices: the head word holds a version above the index, against the ABA problem.
__global__ void UseStack(unsigned long long* head, int* next, int* owned, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    unsigned long long old = *reinterpret_cast<volatile unsigned long long*>(head);
    int node;
    while (true) {
      node = static_cast<int>(static_cast<unsigned>(old));
      if (node < 0) {  // empty for now
        old = *reinterpret_cast<volatile unsigned long long*>(head);
        continue;
      }
      const unsigned after = static_cast<unsigned>(*reinterpret_cast<volatile int*>(&next[node]));
      const unsigned long long seen = atomicCAS(head, old, ((old >> 32) + 1) << 32 | after);
      if (seen == old) break;
      old = seen;
    }
    // Between pop and push the node is ours alone.
    __threadfence();
    owned[node] = owned[node] + 1;
    __threadfence();
    old = *reinterpret_cast<volatile unsigned long long*>(head);
    while (true) {
      *reinterpret_cast<volatile int*>(&next[node]) = static_cast<int>(static_cast<unsigned>(old));
      __threadfence();
      const unsigned long long seen =
          atomicCAS(head, old, ((old >> 32) + 1) << 32 | static_cast<unsigned>(node));
      if (seen == old) break;
      old = seen;
    }
  }
}

int main() {
  const int n = 3000;
  Random random(261);
  std::vector<unsigned> keys(n);
  std::map<unsigned, int> reference;
  for (unsigned& key : keys) ++reference[key = random.Below(700) * 7919];
  std::vector<unsigned> queries;
  std::vector<int> want;
  for (unsigned q = 0; q < 1000; ++q) {
    queries.push_back(q * 7919);
    want.push_back(reference.count(q * 7919) ? reference[q * 7919] : 0);
  }
  const unsigned capacity = 1024;
  DeviceArray<unsigned> dkeys(keys), slots(capacity), dqueries(queries);
  DeviceArray<int> counts(capacity), found(queries.size());
  slots.Fill(0xff);
  counts.Fill(0);
  Count<<<(n + 127) / 128, 128>>>(dkeys.data(), n, slots.data(), counts.data(), capacity - 1);
  Lookup<<<8, 128>>>(dqueries.data(), 1000, slots.data(), counts.data(), capacity - 1,
                     found.data());
  LAUNCH_OK();
  ExpectEqual("counts", found.Get(), want);

  std::vector<Cell> cells(kCells);
  for (unsigned i = 0; i < kCells; ++i) cells[i] = {i, 0};
  DeviceArray<Cell> dcells(cells);
  DeviceArray<Queue> queue(1);
  const int items = 4 * 96;
  DeviceArray<int> taken(items);
  queue.Fill(0);
  taken.Fill(0);
  UseQueue<<<8, 96>>>(queue.data(), dcells.data(), taken.data());
  LAUNCH_OK();
  ExpectEqual("queue", taken.Get(), std::vector<int>(items, 1));

  const int nodes = 20, threads = 2 * 64, rounds = 3;
  std::vector<int> next(nodes);
  for (int i = 0; i < nodes; ++i) next[i] = i + 1 < nodes ? i + 1 : -1;
  DeviceArray<int> dnext(next), owned(nodes);
  DeviceArray<unsigned long long> head(1);
  owned.Fill(0);
  head.Fill(0);
  UseStack<<<2, 64>>>(head.data(), dnext.data(), owned.data(), rounds);
  LAUNCH_OK();
  int total = 0;
  for (int count : owned.Get()) total += count;
  ExpectEqual("stack operations", total, threads * rounds);
  std::vector<int> chain;
  next = dnext.Get();
  for (int node = static_cast<int>(head.Get()[0]); node >= 0 && chain.size() <= 20;
       node = next[node]) {
    chain.push_back(node);
  }
  std::sort(chain.begin(), chain.end());
  std::vector<int> all(nodes);
  for (int i = 0; i < nodes; ++i) all[i] = i;
  ExpectEqual("every node is on the stack once", chain, all);
  std::printf("%zu distinct keys, %d items through the queue, %d stack operations\n",
              reference.size(), items, total);
  return Finish();
}
