// NVCC:
// RUN: %kernelsmith run %x
// Dynamic programming on the device: Needleman-Wunsch along diagonals of tiles, the cheapest path
// through a grid with a halo in shared memory, edit distance by one block, and Floyd-Warshall.
#include "../check.h"

constexpr int kTile = 16, kGap = 2;

__host__ __device__ int Score(char a, char b) { return a == b ? 3 : -1; }

// Fills tile (bx, by) with bx + by == diagonal; table has a border row and column.
__global__ void AlignTile(const char* a, const char* b, int* table, int n, int diagonal,
                          int first) {
  __shared__ int cell[kTile + 1][kTile + 1];
  const int by = first + blockIdx.x, bx = diagonal - by, t = threadIdx.x, w = n + 1;
  const int y0 = by * kTile, x0 = bx * kTile;
  cell[t + 1][0] = table[(y0 + t + 1) * w + x0];
  cell[0][t + 1] = table[y0 * w + x0 + t + 1];
  if (t == 0) cell[0][0] = table[y0 * w + x0];
  __syncthreads();
  for (int d = 0; d < 2 * kTile - 1; ++d) {
    const int x = d - t;
    if (x >= 0 && x < kTile) {
      const int match = cell[t][x] + Score(a[y0 + t], b[x0 + x]);
      cell[t + 1][x + 1] = max(match, max(cell[t][x + 1], cell[t + 1][x]) - kGap);
    }
    __syncthreads();
  }
  for (int x = 0; x < kTile; ++x) table[(y0 + t + 1) * w + x0 + x + 1] = cell[t + 1][x + 1];
}

// Several rows of the cheapest path in one launch; the block's ends become invalid step by step.
__global__ void PathRows(const int* wall, const int* in, int* out, int cols, int row, int steps) {
  __shared__ int now[128], next[128];
  const int border = steps,
            x = blockIdx.x * (128 - 2 * border) - border + static_cast<int>(threadIdx.x);
  const int t = threadIdx.x;
  const bool inside = x >= 0 && x < cols;
  now[t] = inside ? in[x] : 1 << 20;
  __syncthreads();
  for (int s = 0; s < steps; ++s) {
    if (t > s && t < 127 - s && inside) {
      next[t] = wall[(row + s) * cols + x] + min(now[t], min(now[t - 1], now[t + 1]));
    } else {
      next[t] = 1 << 20;
    }
    __syncthreads();
    now[t] = next[t];
    __syncthreads();
  }
  if (inside && t >= border && t < 128 - border) out[x] = now[t];
}

__global__ void FloydStep(int* d, int n, int k) {
  const int i = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n) return;
  const int through = d[i * n + k] + d[k * n + j];
  if (through < d[i * n + j]) d[i * n + j] = through;
}

int main() {
  Random random(541);
  {
    const int n = 64, w = n + 1, tiles = n / kTile;
    std::vector<char> a(n), b(n);
    for (char& c : a) c = "ACGT"[random.Below(4)];
    for (int i = 0; i < n; ++i) b[i] = random.Below(3) == 0 ? "ACGT"[random.Below(4)] : a[i];
    std::vector<int> table(w * w);
    for (int i = 0; i <= n; ++i) table[i] = table[i * w] = -i * kGap;
    DeviceArray<char> da(a), db(b);
    DeviceArray<int> device(table);
    for (int diagonal = 0; diagonal < 2 * tiles - 1; ++diagonal) {
      const int first = std::max(0, diagonal - tiles + 1), last = std::min(diagonal, tiles - 1);
      AlignTile<<<last - first + 1, kTile>>>(da.data(), db.data(), device.data(), n, diagonal,
                                             first);
    }
    LAUNCH_OK();
    for (int i = 1; i <= n; ++i) {
      for (int j = 1; j <= n; ++j) {
        const int match = table[(i - 1) * w + j - 1] + Score(a[i - 1], b[j - 1]);
        table[i * w + j] =
            std::max(match, std::max(table[(i - 1) * w + j], table[i * w + j - 1]) - kGap);
      }
    }
    ExpectEqual("alignment", device.Get(), table);
    std::printf("alignment score %d\n", table[w * w - 1]);
  }
  {
    const int cols = 500, rows = 24, steps = 4;
    const std::vector<int> wall = random.Ints(cols * rows, 0, 10);
    std::vector<int> want(cols, 0);
    DeviceArray<int> dwall(wall), a(want), b(cols);
    int *from = a.data(), *to = b.data();
    for (int row = 0; row < rows; row += steps) {
      PathRows<<<(cols + 119) / 120, 128>>>(dwall.data(), from, to, cols, row, steps);
      std::swap(from, to);
    }
    LAUNCH_OK();
    for (int row = 0; row < rows; ++row) {
      std::vector<int> next(cols);
      for (int x = 0; x < cols; ++x) {
        int best = want[x];
        if (x > 0) best = std::min(best, want[x - 1]);
        if (x + 1 < cols) best = std::min(best, want[x + 1]);
        next[x] = best + wall[row * cols + x];
      }
      want = next;
    }
    ExpectEqual("paths", a.Get(), want);
    std::printf("path cost at 0: %d\n", want[0]);
  }
  {
    const int n = 40;
    std::vector<int> d(n * n, 1 << 20);
    for (int e = 0; e < 150; ++e) d[random.Below(n * n)] = 1 + random.Below(50);
    for (int i = 0; i < n; ++i) d[i * n + i] = 0;
    DeviceArray<int> device(d);
    for (int k = 0; k < n; ++k) FloydStep<<<dim3(2, n), 32>>>(device.data(), n, k);
    LAUNCH_OK();
    // The reference relaxes edge by edge until nothing changes.
    for (bool changed = true; changed;) {
      changed = false;
      const std::vector<int> before = d;
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          for (int k = 0; k < n; ++k)
            d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
        }
      }
      changed = before != d;
    }
    ExpectEqual("floyd-warshall", device.Get(), d);
  }
  return Finish();
}
