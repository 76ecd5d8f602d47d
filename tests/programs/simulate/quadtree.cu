// NVCC:
// RUN: %kernelsmith run %x
// A quadtree built by all threads at once, as Barnes-Hut codes do: children are locked by
// compare-and-swap, losers retry in the loop, inner nodes wait for the masses of their children,
// and forces are summed by a walk with an explicit stack.
#include "../check.h"

constexpr int kBodies = 256, kNodes = 4 * kBodies, kEmpty = -1, kLocked = -2;

struct Tree {
  int child[kNodes * 4];  // below kBodies: a body; else an inner node
  float mass[kNodes], x[kNodes], y[kNodes];
  int ready[kNodes];
  int next;
};

__global__ void Build(Tree* tree, const float* px, const float* py) {
  const int body = blockIdx.x * blockDim.x + threadIdx.x;
  if (body >= kBodies) return;
  const float x = px[body], y = py[body];
  bool done = false;
  int node = kBodies;
  float cx = 0.5f, cy = 0.5f, half = 0.5f;
  while (!done) {
    const int quarter = (x >= cx) + 2 * (y >= cy);
    volatile int* slot = &tree->child[node * 4 + quarter];
    const int child = *slot;
    if (child >= kBodies) {  // walk down
      __threadfence();       // what is below was written before it was shown
      half *= 0.5f;
      cx += x >= cx ? half : -half;
      cy += y >= cy ? half : -half;
      node = child;
    } else if (child != kLocked) {
      if (child == kEmpty) {
        done = atomicCAS(const_cast<int*>(slot), kEmpty, body) == kEmpty;
      } else if (atomicCAS(const_cast<int*>(slot), child, kLocked) == child) {
        // Split until the two bodies lie in different quarters, then show the new branch at once.
        const int first = atomicAdd(&tree->next, 1);
        int inner = first;
        float bx = cx, by = cy, h = half;
        int parent_quarter = quarter;
        while (true) {
          h *= 0.5f;
          bx += parent_quarter & 1 ? h : -h;
          by += parent_quarter & 2 ? h : -h;
          const int old_quarter = (px[child] >= bx) + 2 * (py[child] >= by);
          const int new_quarter = (x >= bx) + 2 * (y >= by);
          if (old_quarter != new_quarter) {
            tree->child[inner * 4 + old_quarter] = child;
            tree->child[inner * 4 + new_quarter] = body;
            break;
          }
          const int deeper = atomicAdd(&tree->next, 1);
          tree->child[inner * 4 + old_quarter] = deeper;
          inner = deeper;
          parent_quarter = old_quarter;
        }
        __threadfence();
        *slot = first;
        done = true;
      }
    }
  }
}

// A node waits until its children are ready. Children have higher numbers than their parents, so
// every thread goes downwards: the highest node that is not ready never waits.
__global__ void Summarize(Tree* tree, const float* px, const float* py, const float* m) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (int node = tree->next - 1 - thread; node >= kBodies; node -= gridDim.x * blockDim.x) {
    float mass = 0, x = 0, y = 0;
    for (int q = 0; q < 4; ++q) {
      const int child = tree->child[node * 4 + q];
      if (child == kEmpty) continue;
      if (child < kBodies) {
        mass += m[child];
        x += m[child] * px[child];
        y += m[child] * py[child];
      } else {
        while (*reinterpret_cast<volatile int*>(&tree->ready[child]) == 0) {
        }
        __threadfence();
        volatile Tree* t = tree;
        mass += t->mass[child];
        x += t->mass[child] * t->x[child];
        y += t->mass[child] * t->y[child];
      }
    }
    tree->mass[node] = mass;
    tree->x[node] = x / mass;
    tree->y[node] = y / mass;
    __threadfence();
    *reinterpret_cast<volatile int*>(&tree->ready[node]) = 1;
  }
}

// With an opening angle of zero the walk visits every body: the sum must be the direct one.
__global__ void Forces(const Tree* tree, const float* px, const float* py, const float* m,
                       float* fx, float theta) {
  const int body = blockIdx.x * blockDim.x + threadIdx.x;
  int stack[64];
  float size[64];
  int top = 0;
  stack[0] = kBodies;
  size[0] = 1;
  float force = 0;
  while (top >= 0) {
    const int node = stack[top];
    const float width = size[top--];
    const bool leaf = node < kBodies;
    const float x = leaf ? px[node] : tree->x[node], y = leaf ? py[node] : tree->y[node];
    const float dx = x - px[body], dy = y - py[body], square = dx * dx + dy * dy + 1e-4f;
    if (leaf || width * width < theta * theta * square) {
      if (node != body) force += (leaf ? m[node] : tree->mass[node]) * dx * rsqrtf(square) / square;
      continue;
    }
    for (int q = 0; q < 4; ++q) {
      const int child = tree->child[node * 4 + q];
      if (child == kEmpty) continue;
      stack[++top] = child;
      size[top] = width * 0.5f;
    }
  }
  fx[body] = force;
}

int main() {
  Random random(581);
  const std::vector<float> x = random.Floats(kBodies, 0, 1), y = random.Floats(kBodies, 0, 1),
                           m = random.Floats(kBodies, 0.5f, 1.5f);
  DeviceArray<float> dx(x), dy(y), dm(m), force(kBodies);
  std::vector<Tree> start(1);
  std::memset(&start[0], 0, sizeof(Tree));
  for (int& child : start[0].child) child = kEmpty;
  start[0].next = kBodies + 1;
  DeviceArray<Tree> tree(start);
  Build<<<4, 64>>>(tree.data(), dx.data(), dy.data());
  Summarize<<<2, 64>>>(tree.data(), dx.data(), dy.data(), dm.data());
  LAUNCH_OK();
  const std::vector<Tree> got = tree.Get();
  double mass = 0, mx = 0;
  for (int i = 0; i < kBodies; ++i) {
    mass += m[i];
    mx += m[i] * x[i];
  }
  ExpectNear("mass and centre", std::vector<float>{got[0].mass[kBodies], got[0].x[kBodies]},
             std::vector<double>{mass, mx / mass}, 1e-5, 0);
  std::vector<int> seen(kBodies);
  for (int child : got[0].child) {
    if (child >= 0 && child < kBodies) ++seen[child];
  }
  ExpectEqual("each body hangs in the tree once", seen, std::vector<int>(kBodies, 1));

  std::vector<double> direct(kBodies);
  for (int i = 0; i < kBodies; ++i) {
    for (int j = 0; j < kBodies; ++j) {
      const double u = x[j] - x[i], v = y[j] - y[i], square = u * u + v * v + 1e-4;
      if (i != j) direct[i] += m[j] * u / (square * std::sqrt(square));
    }
  }
  Forces<<<4, 64>>>(tree.data(), dx.data(), dy.data(), dm.data(), force.data(), 0.0f);
  LAUNCH_OK();
  double scale = 0;
  for (double f : direct) scale = std::max(scale, std::fabs(f));
  ExpectNear("direct forces", force.Get(), direct, 1e-4, 1e-5 * scale);
  Forces<<<4, 64>>>(tree.data(), dx.data(), dy.data(), dm.data(), force.data(), 0.3f);
  LAUNCH_OK();
  ExpectNear("approximate forces", force.Get(), direct, 0.05, 0.02 * scale);
  std::printf("%d nodes, mass %.3f\n", got[0].next - kBodies, mass);
  return Finish();
}
