// NVCC:
// RUN: %kernelsmith run %x
// Least-significant-digit radix sort of 32-bit keys with values, four bits a pass: block
// histograms, a scan over (digit, block), and a stable scatter ranked by ballots.
#include <algorithm>
#include <numeric>

#include "../check.h"

constexpr int kThreads = 128, kDigits = 16, kWarps = kThreads / 32;

__global__ void CountDigits(const unsigned* keys, int n, int shift, unsigned* counts) {
  __shared__ unsigned bins[kDigits];
  if (threadIdx.x < kDigits) bins[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) atomicAdd(&bins[keys[i] >> shift & (kDigits - 1)], 1u);
  __syncthreads();
  // Digit-major, so that one scan gives every block its place in every digit.
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

__global__ void ScanCounts(unsigned* counts, int n) {
  __shared__ unsigned sums[kThreads];
  unsigned carry = 0;
  for (int base = 0; base < n; base += kThreads) {
    const int i = base + threadIdx.x;
    const unsigned own = i < n ? counts[i] : 0;
    sums[threadIdx.x] = own;
    __syncthreads();
    for (int offset = 1; offset < kThreads; offset *= 2) {
      const unsigned left = threadIdx.x >= offset ? sums[threadIdx.x - offset] : 0;
      __syncthreads();
      sums[threadIdx.x] += left;
      __syncthreads();
    }
    if (i < n) counts[i] = carry + sums[threadIdx.x] - own;
    carry += sums[kThreads - 1];
    __syncthreads();
  }
}

__global__ void Scatter(const unsigned* keys, const int* values, unsigned* out_keys,
                        int* out_values, int n, int shift, const unsigned* offsets) {
  __shared__ unsigned warp_counts[kWarps][kDigits];
  const int i = blockIdx.x * kThreads + threadIdx.x, lane = threadIdx.x % 32,
            warp = threadIdx.x / 32;
  for (int b = threadIdx.x; b < kWarps * kDigits; b += kThreads)
    warp_counts[b / kDigits][b % kDigits] = 0;
  __syncthreads();
  const bool valid = i < n;
  const unsigned key = valid ? keys[i] : 0, digit = valid ? key >> shift & (kDigits - 1) : kDigits;
  // Lanes of this warp with the same digit, found bit by bit.
  unsigned peers = __ballot_sync(~0u, valid);
  for (int bit = 0; bit < 4; ++bit) {
    const unsigned ones = __ballot_sync(~0u, digit >> bit & 1);
    peers &= digit >> bit & 1 ? ones : ~ones;
  }
  const unsigned rank = __popc(peers & ((1u << lane) - 1));
  if (valid && rank == 0) warp_counts[warp][digit] = __popc(peers);
  __syncthreads();
  if (!valid) return;
  unsigned place = offsets[digit * gridDim.x + blockIdx.x] + rank;
  for (int w = 0; w < warp; ++w) place += warp_counts[w][digit];
  out_keys[place] = key;
  out_values[place] = values[i];
}

int main() {
  Random random(141);
  for (int n : {1, 100, 5000}) {
    std::vector<unsigned> keys(n);
    std::vector<int> values(n), order(n);
    for (int i = 0; i < n; ++i) {
      keys[i] = static_cast<unsigned>(random.Bits());
      if (i % 3 == 0) keys[i] &= 0xff;  // equal keys show whether the sort is stable
      values[i] = i;
    }
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    std::vector<unsigned> want(n);
    for (int i = 0; i < n; ++i) want[i] = keys[order[i]];

    const int blocks = (n + kThreads - 1) / kThreads;
    DeviceArray<unsigned> keys_a(keys), keys_b(n), counts(blocks * kDigits);
    DeviceArray<int> values_a(values), values_b(n);
    unsigned *from = keys_a.data(), *to = keys_b.data();
    int *from_values = values_a.data(), *to_values = values_b.data();
    for (int shift = 0; shift < 32; shift += 4) {
      CountDigits<<<blocks, kThreads>>>(from, n, shift, counts.data());
      ScanCounts<<<1, kThreads>>>(counts.data(), blocks * kDigits);
      Scatter<<<blocks, kThreads>>>(from, from_values, to, to_values, n, shift, counts.data());
      std::swap(from, to);
      std::swap(from_values, to_values);
    }
    LAUNCH_OK();
    ExpectEqual("keys", keys_a.Get(), want);
    ExpectEqual("values", values_a.Get(), order);
    std::printf("n = %d: smallest %u, largest %u\n", n, want[0], want[n - 1]);
  }
  return Finish();
}
