// NVCC:
// RUN: %kernelsmith run %x
// Matrix products: naive, tiled through shared memory, register tiled, and double buffered, on
// sizes that do not divide the tiles.
#include "../check.h"

__global__ void Naive(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y,
            col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

template <int kTile>
__global__ void Tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float sa[kTile][kTile], sb[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int base = 0; base < k; base += kTile) {
    const int ka = base + threadIdx.x, kb = base + threadIdx.y;
    sa[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    sb[threadIdx.y][threadIdx.x] = kb < k && col < n ? b[kb * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += sa[threadIdx.y][i] * sb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

// 64 threads make a 32 x 32 tile, 4 x 4 elements each; the next slice is loaded into registers
// while the present one is used.
constexpr int kBlock = 32, kDepth = 8, kSub = 4;

__global__ __launch_bounds__(64) void RegisterTiled(const float* a, const float* b, float* c, int m,
                                                    int n, int k) {
  __shared__ float sa[2][kDepth][kBlock], sb[2][kDepth][kBlock];
  const int t = threadIdx.x, ty = t / 8, tx = t % 8;
  const int row0 = blockIdx.y * kBlock, col0 = blockIdx.x * kBlock;
  float sums[kSub][kSub] = {};
  float next_a[4], next_b[4];
  auto load = [&](int base) {
    for (int i = 0; i < 4; ++i) {
      const int e = t + 64 * i;
      const int ra = row0 + e / kDepth, ka = base + e % kDepth;
      next_a[i] = ra < m && ka < k ? a[ra * k + ka] : 0.0f;
      const int kb = base + e / kBlock, cb = col0 + e % kBlock;
      next_b[i] = kb < k && cb < n ? b[kb * n + cb] : 0.0f;
    }
  };
  auto store = [&](int stage) {
    for (int i = 0; i < 4; ++i) {
      const int e = t + 64 * i;
      sa[stage][e % kDepth][e / kDepth] = next_a[i];
      sb[stage][e / kBlock][e % kBlock] = next_b[i];
    }
  };
  load(0);
  store(0);
  __syncthreads();
  int stage = 0;
  for (int base = 0; base < k; base += kDepth) {
    const bool more = base + kDepth < k;
    if (more) load(base + kDepth);
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      float ra[kSub], rb[kSub];
      for (int y = 0; y < kSub; ++y) ra[y] = sa[stage][i][ty * kSub + y];
      for (int x = 0; x < kSub; ++x) rb[x] = sb[stage][i][tx * kSub + x];
      for (int y = 0; y < kSub; ++y) {
        for (int x = 0; x < kSub; ++x) sums[y][x] += ra[y] * rb[x];
      }
    }
    if (more) store(stage ^ 1);
    __syncthreads();
    stage ^= 1;
  }
  for (int y = 0; y < kSub; ++y) {
    for (int x = 0; x < kSub; ++x) {
      const int row = row0 + ty * kSub + y, col = col0 + tx * kSub + x;
      if (row < m && col < n) c[row * n + col] = sums[y][x];
    }
  }
}

int main() {
  const int shapes[][3] = {{32, 32, 32}, {64, 48, 80}, {33, 65, 17}, {1, 100, 50}};
  Random random(12);
  for (const auto& shape : shapes) {
    const int m = shape[0], n = shape[1], k = shape[2];
    const std::vector<float> a = random.Floats(m * k, -1, 1), b = random.Floats(k * n, -1, 1);
    std::vector<double> want(m * n);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        for (int l = 0; l < k; ++l)
          want[i * n + j] += static_cast<double>(a[i * k + l]) * b[l * n + j];
      }
    }
    DeviceArray<float> da(a), db(b), dc(m * n);
    auto check = [&](const char* name) {
      LAUNCH_OK();
      ExpectNear(name, dc.Get(), want, 0, 2e-5);
      dc.Fill(0xff);
    };
    auto grid = [&](int tile) { return dim3((n + tile - 1) / tile, (m + tile - 1) / tile); };
    Naive<<<grid(16), dim3(16, 16)>>>(da.data(), db.data(), dc.data(), m, n, k);
    check("naive");
    Tiled<16><<<grid(16), dim3(16, 16)>>>(da.data(), db.data(), dc.data(), m, n, k);
    check("tiled 16");
    Tiled<32><<<grid(32), dim3(32, 32)>>>(da.data(), db.data(), dc.data(), m, n, k);
    check("tiled 32");
    RegisterTiled<<<grid(kBlock), 64>>>(da.data(), db.data(), dc.data(), m, n, k);
    check("register tiled");
    std::printf("%d x %d x %d: c[0] = %.6f\n", m, n, k, want[0]);
  }
  return Finish();
}
