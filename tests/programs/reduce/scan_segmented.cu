// NVCC:
// RUN: %kernelsmith run %x
// A segmented scan over head flags, a multi-block scan-then-propagate in three launches, and stream
// compaction built on it.
#include "../check.h"

constexpr int kThreads = 128;

struct Item {
  float value;
  int head;
};

// Associative: a value to the right of a head does not see what is left of it.
__device__ Item Combine(Item a, Item b) {
  return {b.head ? b.value : a.value + b.value, a.head | b.head};
}

__device__ Item BlockScan(Item item, Item* scratch) {
  scratch[threadIdx.x] = item;
  __syncthreads();
  for (int offset = 1; offset < kThreads; offset *= 2) {
    Item left{0, 0};
    const bool has_left = threadIdx.x >= offset;
    if (has_left) left = scratch[threadIdx.x - offset];
    __syncthreads();
    if (has_left) scratch[threadIdx.x] = item = Combine(left, item);
    __syncthreads();
  }
  return item;
}

__global__ void ScanBlocks(const float* in, const int* heads, Item* out, Item* sums, int n) {
  __shared__ Item scratch[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const Item item = BlockScan(i < n ? Item{in[i], heads[i]} : Item{0, 0}, scratch);
  if (i < n) out[i] = item;
  if (threadIdx.x == kThreads - 1) sums[blockIdx.x] = item;
}

__global__ void ScanSums(Item* sums, int blocks) {
  __shared__ Item scratch[kThreads];
  const Item item = BlockScan(threadIdx.x < blocks ? sums[threadIdx.x] : Item{0, 0}, scratch);
  if (threadIdx.x < blocks) sums[threadIdx.x] = item;
}

__global__ void Propagate(const Item* scanned, const Item* sums, float* out, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  out[i] = blockIdx.x == 0 ? scanned[i].value : Combine(sums[blockIdx.x - 1], scanned[i]).value;
}

__global__ void Compact(const float* in, const float* positions, int* out, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n && in[i] != 0) out[static_cast<int>(positions[i]) - 1] = i;
}

void Scan(const DeviceArray<float>& in, const DeviceArray<int>& heads, DeviceArray<float>& out) {
  const int n = static_cast<int>(in.size()), blocks = (n + kThreads - 1) / kThreads;
  DeviceArray<Item> scanned(n), sums(blocks);
  ScanBlocks<<<blocks, kThreads>>>(in.data(), heads.data(), scanned.data(), sums.data(), n);
  ScanSums<<<1, kThreads>>>(sums.data(), blocks);
  Propagate<<<blocks, kThreads>>>(scanned.data(), sums.data(), out.data(), n);
  LAUNCH_OK();
}

int main() {
  const int n = 10000;
  Random random(6);
  std::vector<float> values(n), want(n), keep(n);
  std::vector<int> heads(n), none(n, 0), kept;
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    values[i] = static_cast<float>(random.Below(16));
    heads[i] = random.Below(150) == 0;
    sum = heads[i] ? values[i] : sum + values[i];
    want[i] = sum;
    keep[i] = values[i] > 11 ? 1.0f : 0.0f;
    if (keep[i] != 0) kept.push_back(i);
  }
  DeviceArray<float> in(values), out(n);
  Scan(in, DeviceArray<int>(heads), out);
  ExpectEqual("segmented", out.Get(), want);

  DeviceArray<float> flags(keep);
  Scan(flags, DeviceArray<int>(none), out);
  DeviceArray<int> compacted(kept.size());
  Compact<<<(n + kThreads - 1) / kThreads, kThreads>>>(flags.data(), out.data(), compacted.data(),
                                                       n);
  LAUNCH_OK();
  ExpectEqual("compacted", compacted.Get(), kept);
  std::printf("last segment sum %g, kept %zu of %d\n", want[n - 1], kept.size(), n);
  return Finish();
}
