// NVCC:
// RUN: %kernelsmith run %x
// Graph traversal on a random CSR graph: breadth-first search by levels and by frontiers with a
// queue, and shortest paths by Bellman-Ford relaxation with atomicMin.
#include <queue>

#include "../check.h"

struct Graph {
  std::vector<int> offsets, targets, weights;
};

Graph RandomGraph(int vertices, int degree, uint64_t seed) {
  Random random(seed);
  Graph g;
  g.offsets.push_back(0);
  for (int v = 0; v < vertices; ++v) {
    const int edges = random.Below(2 * degree);
    for (int e = 0; e < edges; ++e) {
      g.targets.push_back(random.Below(vertices));
      g.weights.push_back(1 + random.Below(20));
    }
    g.offsets.push_back(static_cast<int>(g.targets.size()));
  }
  return g;
}

__global__ void LevelStep(const int* offsets, const int* targets, int* depth, int n, int level,
                          int* changed) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || depth[v] != level) return;
  for (int e = offsets[v]; e < offsets[v + 1]; ++e) {
    if (depth[targets[e]] == -1) {
      depth[targets[e]] = level + 1;  // every writer writes the same
      *changed = 1;
    }
  }
}

// One warp a vertex of the frontier; new vertices are claimed with a compare-and-swap.
__global__ void FrontierStep(const int* offsets, const int* targets, int* depth,
                             const int* frontier, int count, int* next, int* next_count,
                             int level) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (warp >= count) return;
  const int v = frontier[warp];
  for (int e = offsets[v] + lane; e < offsets[v + 1]; e += 32) {
    if (atomicCAS(&depth[targets[e]], -1, level + 1) == -1)
      next[atomicAdd(next_count, 1)] = targets[e];
  }
}

__global__ void Relax(const int* offsets, const int* targets, const int* weights, int* distance,
                      int n, int* changed) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  const int mine = distance[v];
  if (mine == 0x7fffffff) return;
  for (int e = offsets[v]; e < offsets[v + 1]; ++e) {
    const int through = mine + weights[e];
    if (through < atomicMin(&distance[targets[e]], through)) atomicExch(changed, 1);
  }
}

int main() {
  const int n = 1500, source = 3;
  const Graph g = RandomGraph(n, 3, 171);
  std::vector<int> want_depth(n, -1), want_distance(n, 0x7fffffff);
  std::queue<int> queue;
  queue.push(source);
  want_depth[source] = 0;
  int reached = 0, deepest = 0;
  while (!queue.empty()) {
    const int v = queue.front();
    queue.pop();
    ++reached;
    deepest = want_depth[v];
    for (int e = g.offsets[v]; e < g.offsets[v + 1]; ++e) {
      if (want_depth[g.targets[e]] != -1) continue;
      want_depth[g.targets[e]] = want_depth[v] + 1;
      queue.push(g.targets[e]);
    }
  }
  using Entry = std::pair<int, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> heap;
  want_distance[source] = 0;
  heap.push({0, source});
  while (!heap.empty()) {
    const auto [d, v] = heap.top();
    heap.pop();
    if (d != want_distance[v]) continue;
    for (int e = g.offsets[v]; e < g.offsets[v + 1]; ++e) {
      if (d + g.weights[e] >= want_distance[g.targets[e]]) continue;
      want_distance[g.targets[e]] = d + g.weights[e];
      heap.push({d + g.weights[e], g.targets[e]});
    }
  }
  std::printf("%d vertices, %zu edges, %d reached, depth %d\n", n, g.targets.size(), reached,
              deepest);

  DeviceArray<int> offsets(g.offsets), targets(g.targets), weights(g.weights), flag(1);
  const int blocks = (n + 127) / 128;
  std::vector<int> start(n, -1);
  start[source] = 0;
  DeviceArray<int> depth(start);
  for (int level = 0;; ++level) {
    flag.Fill(0);
    LevelStep<<<blocks, 128>>>(offsets.data(), targets.data(), depth.data(), n, level, flag.data());
    LAUNCH_OK();
    if (flag.Get()[0] == 0) break;
  }
  ExpectEqual("levels", depth.Get(), want_depth);

  depth.Set(start);
  DeviceArray<int> frontier_a(std::vector<int>(n, source)), frontier_b(n);
  int *frontier = frontier_a.data(), *next = frontier_b.data(), count = 1;
  for (int level = 0; count > 0; ++level) {
    flag.Fill(0);
    FrontierStep<<<(count + 3) / 4, 128>>>(offsets.data(), targets.data(), depth.data(), frontier,
                                           count, next, flag.data(), level);
    LAUNCH_OK();
    count = flag.Get()[0];
    std::swap(frontier, next);
  }
  ExpectEqual("frontiers", depth.Get(), want_depth);

  std::vector<int> far(n, 0x7fffffff);
  far[source] = 0;
  DeviceArray<int> distance(far);
  int rounds = 0;
  do {
    flag.Fill(0);
    Relax<<<blocks, 128>>>(offsets.data(), targets.data(), weights.data(), distance.data(), n,
                           flag.data());
    LAUNCH_OK();
    ++rounds;
  } while (flag.Get()[0] != 0 && rounds < n);
  ExpectEqual("distances", distance.Get(), want_distance);
  return Finish();
}
