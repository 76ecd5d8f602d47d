// NVCC:
// RUN: %kernelsmith run %x
// CUB at block and warp level: reduce, scan, radix sort, exchange by transposing loads, and warp
// scans.
#include <algorithm>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_scan.cuh>

#include "../check.h"

constexpr int kThreads = 128, kItems = 4, kTile = kThreads * kItems;

struct Largest {
  __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

__global__ void Tile(const int* in, int* sorted, int* scanned, int* sums, int* warp_scans) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  using Reduce = cub::BlockReduce<int, kThreads>;
  using Scan = cub::BlockScan<int, kThreads, cub::BLOCK_SCAN_RAKING>;
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  using WarpScan = cub::WarpScan<int>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
    typename Sort::TempStorage sort;
    typename WarpScan::TempStorage warp[kThreads / 32];
  } temp;
  int items[kItems], prefix[kItems];
  const int base = blockIdx.x * kTile;
  Load(temp.load).Load(in + base, items);
  __syncthreads();
  const int sum = Reduce(temp.reduce).Sum(items);
  __syncthreads();
  const int high = Reduce(temp.reduce).Reduce(items[0], Largest());
  if (threadIdx.x == 0) {
    sums[2 * blockIdx.x] = sum;
    sums[2 * blockIdx.x + 1] = high;
  }
  __syncthreads();
  Scan(temp.scan).ExclusiveSum(items, prefix);
  __syncthreads();
  Store(temp.store).Store(scanned + base, prefix);
  __syncthreads();
  int within;
  WarpScan(temp.warp[threadIdx.x / 32]).InclusiveSum(items[0], within);
  warp_scans[blockIdx.x * kThreads + threadIdx.x] = within;
  __syncthreads();
  Sort(temp.sort).Sort(items);
  __syncthreads();
  Store(temp.store).Store(sorted + base, items);
}

int main() {
  const int tiles = 3, n = tiles * kTile;
  Random random(451);
  const std::vector<int> in = random.Ints(n, -1000, 1000);
  DeviceArray<int> device(in), sorted(n), scanned(n), sums(2 * tiles), warp_scans(tiles * kThreads);
  Tile<<<tiles, kThreads>>>(device.data(), sorted.data(), scanned.data(), sums.data(),
                            warp_scans.data());
  LAUNCH_OK();
  std::vector<int> want_sorted(in), want_scanned(n), want_sums, want_warp(tiles * kThreads);
  for (int t = 0; t < tiles; ++t) {
    std::sort(want_sorted.begin() + t * kTile, want_sorted.begin() + (t + 1) * kTile);
    int sum = 0, high = -5000;
    for (int i = 0; i < kTile; ++i) {
      want_scanned[t * kTile + i] = sum;
      sum += in[t * kTile + i];
      if (i % kItems == 0) high = std::max(high, in[t * kTile + i]);
    }
    for (int i = 0; i < kThreads; ++i) {
      const int before = i % 32 == 0 ? 0 : want_warp[t * kThreads + i - 1];
      want_warp[t * kThreads + i] = before + in[t * kTile + i * kItems];
    }
    want_sums.insert(want_sums.end(), {sum, high});
  }
  ExpectEqual("sums", sums.Get(), want_sums);
  ExpectEqual("scanned", scanned.Get(), want_scanned);
  ExpectEqual("warp scans", warp_scans.Get(), want_warp);
  ExpectEqual("sorted", sorted.Get(), want_sorted);
  std::printf("sum of tile 0: %d\n", want_sums[0]);
  return Finish();
}
