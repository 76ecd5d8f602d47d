// NVCC:
// RUN: %kernelsmith run %x
// Cooperative groups within a block: static tiles of every size with shuffles, votes, reduce and
// scans; coalesced groups of a divergent branch; labeled and binary partitions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "../check.h"

namespace cg = cooperative_groups;

template <int kSize>
__global__ void Tiles(const int* in, int* out) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<kSize>(block);
  const int i = block.thread_rank();
  const int value = in[i];
  int* row = out + i * 8;
  row[0] = tile.thread_rank() * 1000 + tile.meta_group_rank();
  row[1] = cg::reduce(tile, value, cg::plus<int>());
  row[2] = cg::reduce(tile, value, cg::greater<int>());
  row[3] = cg::inclusive_scan(tile, value);
  row[4] = cg::exclusive_scan(tile, value, cg::plus<int>());
  row[5] = tile.shfl_down(value, 1);
  row[6] = tile.any(value > 90) * 2 + tile.all(value > 5);
  int sum = value;
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_xor(sum, offset);
  row[7] = sum;
  tile.sync();
}

template <int kSize>
std::vector<int> TilesReference(const std::vector<int>& in) {
  std::vector<int> out;
  for (int i = 0; i < static_cast<int>(in.size()); ++i) {
    const int base = i / kSize * kSize;
    int sum = 0, high = in[base], before = 0, any = 0, all = 1;
    for (int j = base; j < base + kSize; ++j) {
      sum += in[j];
      high = std::max(high, in[j]);
      if (j < i) before += in[j];
      any |= in[j] > 90;
      all &= in[j] > 5;
    }
    const int next = i + 1 < base + kSize ? in[i + 1] : in[i];
    out.insert(out.end(), {i % kSize * 1000 + i / kSize, sum, high, before + in[i], before, next,
                           any * 2 + all, sum});
  }
  return out;
}

// The lanes with odd values make a coalesced group: one of them reserves room for all.
__global__ void Coalesced(const int* in, int n, int* out, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || in[i] % 2 == 0) return;
  cg::coalesced_group active = cg::coalesced_threads();
  int base = 0;
  if (active.thread_rank() == 0) base = atomicAdd(count, static_cast<int>(active.size()));
  base = active.shfl(base, 0);
  out[base + active.thread_rank()] = in[i];
}

__global__ void Partitions(const int* in, int* out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int i = threadIdx.x, value = in[i];
  cg::coalesced_group same = cg::labeled_partition(warp, value % 5);
  cg::coalesced_group half = cg::binary_partition(warp, value > 50);
  out[i * 4] = static_cast<int>(same.size()) * 100 + static_cast<int>(same.thread_rank());
  out[i * 4 + 1] = cg::reduce(same, value, cg::plus<int>());
  out[i * 4 + 2] = cg::reduce(half, value, cg::less<int>());
  out[i * 4 + 3] = half.shfl(value, 0);
}

int main() {
  const int n = 128;
  Random random(291);
  const std::vector<int> in = random.Ints(n, 0, 100);
  DeviceArray<int> device(in), out(n * 8);
  Tiles<32><<<1, n>>>(device.data(), out.data());
  LAUNCH_OK();
  ExpectEqual("tiles of 32", out.Get(), TilesReference<32>(in));
  Tiles<16><<<1, n>>>(device.data(), out.data());
  LAUNCH_OK();
  ExpectEqual("tiles of 16", out.Get(), TilesReference<16>(in));
  Tiles<4><<<1, n>>>(device.data(), out.data());
  LAUNCH_OK();
  ExpectEqual("tiles of 4", out.Get(), TilesReference<4>(in));
  Tiles<1><<<1, n>>>(device.data(), out.data());
  LAUNCH_OK();
  ExpectEqual("tiles of 1", out.Get(), TilesReference<1>(in));

  std::vector<int> odd;
  for (int value : in) {
    if (value % 2 != 0) odd.push_back(value);
  }
  DeviceArray<int> compact(odd.size()), count(1);
  count.Fill(0);
  Coalesced<<<2, 64>>>(device.data(), n, compact.data(), count.data());
  LAUNCH_OK();
  ExpectEqual("count", count.Get()[0], static_cast<int>(odd.size()));
  // Within a warp the order is kept; warps may come in any order. Compare as multisets.
  auto tally = [](const std::vector<int>& values) {
    std::vector<int> counts(100);
    for (int value : values) ++counts[value];
    return counts;
  };
  ExpectEqual("odd values", tally(compact.Get()), tally(odd));

  DeviceArray<int> parts(n * 4);
  Partitions<<<1, n>>>(device.data(), parts.data());
  LAUNCH_OK();
  std::vector<int> want;
  for (int i = 0; i < n; ++i) {
    int size = 0, rank = 0, sum = 0, low = 1000, first = -1;
    for (int j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) {
      if (in[j] % 5 == in[i] % 5) {
        ++size;
        rank += j < i;
        sum += in[j];
      }
      if ((in[j] > 50) == (in[i] > 50)) {
        low = std::min(low, in[j]);
        if (first < 0) first = in[j];
      }
    }
    want.insert(want.end(), {size * 100 + rank, sum, low, first});
  }
  ExpectEqual("partitions", parts.Get(), want);
  std::printf("%zu odd values\n", odd.size());
  return Finish();
}
