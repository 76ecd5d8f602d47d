// NVCC:
// RUN: %kernelsmith run %x
// PageRank with dangling vertices, connected components by hooking and pointer jumping, and
// triangle counting by merging sorted neighbour lists.
#include <algorithm>
#include <numeric>
#include <set>

#include "../check.h"

__global__ void PushRank(const int* offsets, const int* targets, const float* rank, float* next,
                         float* dangling, int n, float damping) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  const int degree = offsets[v + 1] - offsets[v];
  if (degree == 0) {
    atomicAdd(dangling, rank[v]);
    return;
  }
  for (int e = offsets[v]; e < offsets[v + 1]; ++e)
    atomicAdd(&next[targets[e]], damping * rank[v] / degree);
}

__global__ void FinishRank(float* next, const float* dangling, int n, float damping) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) next[v] += (1 - damping) / n + damping * *dangling / n;
}

__device__ int Find(volatile int* parent, int v) {
  while (parent[v] != v) v = parent[v];
  return v;
}

// Each edge joins the two roots: the larger root is hung below the smaller.
__global__ void Hook(const int* offsets, const int* targets, int* parent, int n) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  for (int e = offsets[v]; e < offsets[v + 1]; ++e) {
    int a = Find(parent, v), b = Find(parent, targets[e]);
    while (a != b) {
      const int high = max(a, b), low = min(a, b);
      const int old = atomicCAS(&parent[high], high, low);
      if (old == high) break;
      a = Find(parent, old);
      b = Find(parent, low);
    }
  }
}

__global__ void Flatten(int* parent, int n) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  // Others walk through parent[v] meanwhile: a plain store would race with their reads.
  if (v < n) atomicExch(&parent[v], Find(parent, v));
}

__global__ void CountTriangles(const int* offsets, const int* targets, int n,
                               unsigned long long* count) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  unsigned long long mine = 0;
  for (int e = offsets[v]; e < offsets[v + 1]; ++e) {
    const int u = targets[e];
    if (u <= v) continue;
    int i = e + 1, j = offsets[u];  // common neighbours above u
    while (i < offsets[v + 1] && j < offsets[u + 1]) {
      const int a = targets[i], b = targets[j];
      if (a == b) {
        mine += a > u;
        ++i;
        ++j;
      } else if (a < b) {
        ++i;
      } else {
        ++j;
      }
    }
  }
  if (mine != 0) atomicAdd(count, mine);
}

int main() {
  const int n = 400;
  Random random(181);
  std::vector<std::set<int>> neighbours(n);
  // Few enough edges that several components and lone vertices remain.
  for (int e = 0; e < 700; ++e) {
    const int a = random.Below(n / 2), b = random.Below(60) + a / 60 * 60;
    if (a == b || b >= n) continue;
    neighbours[a].insert(b);
    neighbours[b].insert(a);
  }
  std::vector<int> offsets{0}, targets;
  for (const auto& set : neighbours) {
    targets.insert(targets.end(), set.begin(), set.end());
    offsets.push_back(static_cast<int>(targets.size()));
  }
  DeviceArray<int> doffsets(offsets), dtargets(targets);
  const int blocks = (n + 63) / 64;

  const float damping = 0.85f;
  std::vector<double> rank(n, 1.0 / n);
  DeviceArray<float> a(std::vector<float>(n, 1.0f / n)), b(n), dangling(1);
  float *from = a.data(), *to = b.data();
  for (int round = 0; round < 10; ++round) {
    CUDA_OK(cudaMemset(to, 0, n * sizeof(float)));
    dangling.Fill(0);
    PushRank<<<blocks, 64>>>(doffsets.data(), dtargets.data(), from, to, dangling.data(), n,
                             damping);
    FinishRank<<<blocks, 64>>>(to, dangling.data(), n, damping);
    std::swap(from, to);
    std::vector<double> next(n);
    double lost = 0;
    for (int v = 0; v < n; ++v) {
      if (neighbours[v].empty()) lost += rank[v];
      for (int u : neighbours[v]) next[u] += damping * rank[v] / neighbours[v].size();
    }
    for (double& value : next) value += (1 - damping) / n + damping * lost / n;
    rank = next;
  }
  LAUNCH_OK();
  ExpectNear("page rank", a.Get(), rank, 1e-4, 0);

  std::vector<int> label(n);
  std::iota(label.begin(), label.end(), 0);
  DeviceArray<int> parent(label);
  for (bool changed = true; changed;) {
    changed = false;
    for (int v = 0; v < n; ++v) {
      for (int u : neighbours[v]) {
        if (label[u] < label[v]) {
          label[v] = label[u];
          changed = true;
        }
      }
    }
  }
  Hook<<<blocks, 64>>>(doffsets.data(), dtargets.data(), parent.data(), n);
  Flatten<<<blocks, 64>>>(parent.data(), n);
  LAUNCH_OK();
  ExpectEqual("components", parent.Get(), label);

  unsigned long long triangles = 0;
  for (int v = 0; v < n; ++v) {
    for (int u : neighbours[v]) {
      for (int w : neighbours[u]) triangles += v < u && u < w && neighbours[v].count(w);
    }
  }
  DeviceArray<unsigned long long> count(1);
  count.Fill(0);
  CountTriangles<<<blocks, 64>>>(doffsets.data(), dtargets.data(), n, count.data());
  LAUNCH_OK();
  ExpectEqual("triangles", count.Get()[0], triangles);
  std::printf("%d components, %llu triangles, rank[0] = %.6f\n",
              static_cast<int>(std::set<int>(label.begin(), label.end()).size()), triangles,
              rank[0]);
  Expect(triangles > 0, "the graph has triangles");
  return Finish();
}
