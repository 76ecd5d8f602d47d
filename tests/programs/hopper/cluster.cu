// NVCC:
// RUN: %kernelsmith run %x
// Thread block clusters: distributed shared memory, ranks and positions, the cluster's barrier with
// split arrive and wait, and a histogram whose bins are spread over the blocks of a cluster.
#include <cooperative_groups.h>

#include "../check.h"

namespace cg = cooperative_groups;

// Every block reads its right neighbour's shared memory, then writes into its left neighbour's.
__global__ void __cluster_dims__(4, 1, 1) Ring(int* read, int* written, int* ranks) {
  __shared__ int mine[64];
  __shared__ int inbox[64];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const unsigned size = cluster.num_blocks();
  mine[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
  cluster.sync();
  const int* right = cluster.map_shared_rank(mine, (rank + 1) % size);
  read[blockIdx.x * 64 + threadIdx.x] = right[threadIdx.x];
  int* left = cluster.map_shared_rank(inbox, (rank + size - 1) % size);
  left[63 - threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
  cluster.barrier_arrive();
  cluster.barrier_wait();
  written[blockIdx.x * 64 + threadIdx.x] = inbox[threadIdx.x];
  if (threadIdx.x == 0) {
    ranks[blockIdx.x] = rank * 100 + size * 10 + (cluster.query_shared_rank(left) == (rank + 3) % 4);
  }
}

// 2 x 2 clusters over a 4 x 4 grid: positions and numbers of clusters.
__global__ void __cluster_dims__(2, 2, 1) Positions(int4* out) {
  unsigned x, y, cx, cy, n;
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(y));
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(cx));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(cy));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(n));
  if (threadIdx.x == 0) {
    out[blockIdx.y * gridDim.x + blockIdx.x] =
        make_int4(x + 10 * y, cx + 10 * cy, n, cg::this_cluster().block_rank());
  }
}

constexpr int kBins = 64;

__global__ void Histogram(const unsigned char* in, int count, int* bins) {
  extern __shared__ int part[];
  cg::cluster_group cluster = cg::this_cluster();
  const int size = cluster.num_blocks();
  const int each = kBins / size;
  for (int i = threadIdx.x; i < each; i += blockDim.x) part[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int bin = in[i] % kBins;
    atomicAdd(cluster.map_shared_rank(part, bin / each) + bin % each, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < each; i += blockDim.x) {
    atomicAdd(&bins[cluster.block_rank() * each + i], part[i]);
  }
}

int main() {
  constexpr int kBlocks = 8;
  DeviceArray<int> read(kBlocks * 64), written(kBlocks * 64), ranks(kBlocks);
  Ring<<<kBlocks, 64>>>(read.data(), written.data(), ranks.data());
  LAUNCH_OK();
  const auto r = read.Get(), w = written.Get(), k = ranks.Get();
  for (int b = 0; b < kBlocks; ++b) {
    const int base = b / 4 * 4;
    const int right = base + (b + 1) % 4;
    for (int t = 0; t < 64; ++t) {
      Expect(r[b * 64 + t] == right * 1000 + t, "what the right neighbour had");
      Expect(w[b * 64 + t] == right * 100 + 63 - t, "what the right neighbour wrote");
    }
    Expect(k[b] == (b % 4) * 100 + 41, "rank, size and rank of an address");
  }

  DeviceArray<int4> positions(16);
  Positions<<<dim3(4, 4), 32>>>(positions.data());
  LAUNCH_OK();
  const auto p = positions.Get();
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      const int4 got = p[y * 4 + x];
      Expect(got.x == x % 2 + 10 * (y % 2) && got.y == x / 2 + 10 * (y / 2) && got.z == 2 &&
                 got.w == x % 2 + 2 * (y % 2),
             "position in the cluster and in the grid of clusters");
    }
  }

  constexpr int kCount = 20000;
  std::vector<unsigned char> in(kCount);
  std::vector<int> expected(kBins, 0);
  for (int i = 0; i < kCount; ++i) {
    in[i] = static_cast<unsigned char>(i * i / 7 + i);
    ++expected[in[i] % kBins];
  }
  DeviceArray<unsigned char> data(in);
  for (const unsigned size : {1u, 2u, 8u}) {
    DeviceArray<int> bins(std::vector<int>(kBins, 0));
    cudaLaunchConfig_t config = {};
    config.gridDim = 16;
    config.blockDim = 128;
    config.dynamicSmemBytes = kBins / size * sizeof(int);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {size, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA_OK(cudaLaunchKernelEx(&config, Histogram, (const unsigned char*)data.data(), kCount,
                               bins.data()));
    LAUNCH_OK();
    Expect(bins.Get() == expected, "histogram over a cluster");
  }
  return Finish();
}
