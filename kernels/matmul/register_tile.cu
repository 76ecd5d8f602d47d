// Forward: 64 x 64 of the result a block, 4 x 4 of it in the registers of each thread,
// double-buffered shared memory.
#include <torch/extension.h>

constexpr int kBlock = 64;  // rows and columns of the result that a block makes
constexpr int kDepth = 8;   // of one step along k
constexpr int kThread = 4;  // rows and columns of one thread
constexpr int kThreads = (kBlock / kThread) * (kBlock / kThread);

__global__ void __launch_bounds__(kThreads)
    MatmulRegisters(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                    int m, int n, int k) {
  __shared__ float as[2][kDepth][kBlock];  // transposed: a column of A is contiguous
  __shared__ float bs[2][kDepth][kBlock];
  const int row0 = blockIdx.y * kBlock, column0 = blockIdx.x * kBlock;
  const int tid = threadIdx.x;
  const int tr = tid / (kBlock / kThread) * kThread;
  const int tc = tid % (kBlock / kThread) * kThread;

  auto load = [&](int buffer, int step) {
    for (int e = tid; e < kBlock * kDepth; e += kThreads) {
      const int r = e / kDepth, d = e % kDepth;
      as[buffer][d][r] = row0 + r < m && step + d < k ? a[(size_t)(row0 + r) * k + step + d] : 0.f;
      const int col = e % kBlock, depth = e / kBlock;
      bs[buffer][depth][col] = step + depth < k && column0 + col < n
                                   ? b[(size_t)(step + depth) * n + column0 + col]
                                   : 0.f;
    }
  };

  float sums[kThread][kThread] = {};
  load(0, 0);
  __syncthreads();
  int buffer = 0;
  for (int step = 0; step < k; step += kDepth) {
    if (step + kDepth < k) load(buffer ^ 1, step + kDepth);
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      float av[kThread], bv[kThread];
#pragma unroll
      for (int i = 0; i < kThread; ++i) {
        av[i] = as[buffer][d][tr + i];
        bv[i] = bs[buffer][d][tc + i];
      }
#pragma unroll
      for (int i = 0; i < kThread; ++i)
#pragma unroll
        for (int j = 0; j < kThread; ++j) sums[i][j] = fmaf(av[i], bv[j], sums[i][j]);
    }
    __syncthreads();
    buffer ^= 1;
  }

#pragma unroll
  for (int i = 0; i < kThread; ++i) {
#pragma unroll
    for (int j = 0; j < kThread; ++j) {
      if (row0 + tr + i < m && column0 + tc + j < n)
        c[(size_t)(row0 + tr + i) * n + column0 + tc + j] = sums[i][j];
    }
  }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0));
  const int m = a.size(0), k = a.size(1), n = b.size(1);
  auto c = torch::empty({m, n}, a.options());
  const dim3 grid((n + kBlock - 1) / kBlock, (m + kBlock - 1) / kBlock);
  MatmulRegisters<<<grid, kThreads>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(),
                                      m, n, k);
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
