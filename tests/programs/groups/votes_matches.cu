// NVCC:
// RUN: %kernelsmith run %x
// Warp votes and matches: ballot, any, all, match_any, match_all, activemask inside divergent code,
// reduce_*_sync, warp-aggregated atomics, and elections of a leader.
#include "../check.h"

__global__ void Votes(const int* in, unsigned* out) {
  const int lane = threadIdx.x & 31, value = in[threadIdx.x];
  unsigned* row = out + threadIdx.x * 12;
  row[0] = __ballot_sync(~0u, value & 1);
  row[1] = __any_sync(~0u, value == 7) * 2 + __all_sync(~0u, value >= 0);
  row[2] = __match_any_sync(~0u, value % 6);
  int same;
  row[3] = __match_all_sync(~0u, value / 1000, &same);
  row[4] = same;
  row[5] = __match_any_sync(~0u, static_cast<unsigned long long>(value % 3) << 40);
  row[6] = __reduce_add_sync(~0u, value);
  row[7] = __reduce_min_sync(~0u, value - 50);
  row[8] = __reduce_xor_sync(~0u, static_cast<unsigned>(value));
  row[9] = __reduce_or_sync(~0u, 1u << (value & 31));
  // A divergent part: only these lanes take part.
  unsigned mask = __ballot_sync(~0u, value > 40);
  row[10] = 0;
  row[11] = 0;
  if (value > 40) {
    row[10] = __ballot_sync(mask, lane & 1);
    row[11] = __reduce_max_sync(mask, static_cast<unsigned>(value));
  }
}

// One atomic for all lanes that are there, whatever the branch before was.
__device__ int AggregatedIncrement(int* counter) {
  const unsigned active = __activemask();
  const int leader = __ffs(active) - 1;
  unsigned lane_below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lane_below));
  int base = 0;
  if ((threadIdx.x & 31) == leader) base = atomicAdd(counter, __popc(active));
  base = __shfl_sync(active, base, leader);
  return base + __popc(active & lane_below);
}

__global__ void Filter(const int* in, int n, int* out, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 3 == 0) out[AggregatedIncrement(count)] = in[i];
}

// Histogram with one atomic for each distinct key of a warp.
__global__ void MatchedHistogram(const int* in, int n, int* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned present = __ballot_sync(~0u, i < n);
  if (i >= n) return;
  const unsigned peers = __match_any_sync(present, in[i]);
  if (__ffs(peers) - 1 == (threadIdx.x & 31)) atomicAdd(&bins[in[i]], __popc(peers));
}

int main() {
  const int n = 96;
  Random random(301);
  const std::vector<int> in = random.Ints(n, 0, 100);
  DeviceArray<int> device(in);
  DeviceArray<unsigned> out(n * 12);
  Votes<<<1, n>>>(device.data(), out.data());
  LAUNCH_OK();
  std::vector<unsigned> want;
  for (int i = 0; i < n; ++i) {
    unsigned odd = 0, six = 0, three = 0, bits_xor = 0, bits_or = 0, high_odd = 0, high = 0;
    int any = 0, sum = 0, low = 1000;
    for (int lane = 0; lane < 32; ++lane) {
      const int other = in[i / 32 * 32 + lane];
      odd |= (other & 1u) << lane;
      any |= other == 7;
      six |= (other % 6 == in[i] % 6 ? 1u : 0u) << lane;
      three |= (other % 3 == in[i] % 3 ? 1u : 0u) << lane;
      sum += other;
      low = std::min(low, other - 50);
      bits_xor ^= other;
      bits_or |= 1u << (other & 31);
      if (other > 40) {
        high_odd |= (lane & 1u) << lane;
        high = std::max<unsigned>(high, other);
      }
    }
    const bool takes_part = in[i] > 40;
    want.insert(want.end(), {odd, any * 2u + 1, six, ~0u, 1, three, static_cast<unsigned>(sum),
                             static_cast<unsigned>(low), bits_xor, bits_or,
                             takes_part ? high_odd : 0, takes_part ? high : 0});
  }
  ExpectEqual("votes", out.Get(), want);

  const int m = 3000;
  const std::vector<int> many = random.Ints(m, 0, 40);
  std::vector<int> bins(40), kept(40);
  int total = 0;
  for (int value : many) {
    ++bins[value];
    if (value % 3 == 0) {
      ++kept[value];
      ++total;
    }
  }
  DeviceArray<int> dmany(many), filtered(m), count(1), dbins(40);
  count.Fill(0);
  Filter<<<(m + 127) / 128, 128>>>(dmany.data(), m, filtered.data(), count.data());
  LAUNCH_OK();
  ExpectEqual("filtered count", count.Get()[0], total);
  std::vector<int> got = filtered.Get(), tally(40);
  for (int i = 0; i < total; ++i) {
    if (got[i] >= 0 && got[i] < 40) ++tally[got[i]];
  }
  ExpectEqual("filtered values", tally, kept);
  dbins.Fill(0);
  MatchedHistogram<<<(m + 95) / 96, 96>>>(dmany.data(), m, dbins.data());
  LAUNCH_OK();
  ExpectEqual("matched histogram", dbins.Get(), bins);
  std::printf("%d of %d kept\n", total, m);
  return Finish();
}
