// NVCC:
// RUN: %kernelsmith run %x
// A tensor-core product as real kernels have it: tiles in shared memory filled by 16-byte loads,
// four warps with two by two fragments each, bias and ReLU in the epilogue, and half output through
// shared memory.
#include <mma.h>

#include "../check.h"

using namespace nvcuda;

constexpr int kTileM = 64, kTileN = 64, kTileK = 32, kSkew = 8;

__global__ __launch_bounds__(128) void Gemm(const half* __restrict__ a, const half* __restrict__ b,
                                            const float* __restrict__ bias, half* __restrict__ c,
                                            int m, int n, int k) {
  __shared__ __align__(32) half sa[kTileM][kTileK + kSkew];
  __shared__ __align__(32) half sb[kTileK][kTileN + kSkew];
  __shared__ __align__(32) float sc[kTileM][kTileN + 4];
  const int warp = threadIdx.x / 32, wy = warp / 2 * 32, wx = warp % 2 * 32;
  const int row0 = blockIdx.y * kTileM, col0 = blockIdx.x * kTileN;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][2];
  for (auto& row : acc) {
    for (auto& fragment : row) wmma::fill_fragment(fragment, 0.0f);
  }
  for (int base = 0; base < k; base += kTileK) {
    for (int i = threadIdx.x; i < kTileM * kTileK / 8; i += blockDim.x) {
      const int r = i / (kTileK / 8), s = i % (kTileK / 8) * 8;
      *reinterpret_cast<uint4*>(&sa[r][s]) =
          *reinterpret_cast<const uint4*>(&a[(row0 + r) * k + base + s]);
    }
    for (int i = threadIdx.x; i < kTileK * kTileN / 8; i += blockDim.x) {
      const int r = i / (kTileN / 8), s = i % (kTileN / 8) * 8;
      *reinterpret_cast<uint4*>(&sb[r][s]) =
          *reinterpret_cast<const uint4*>(&b[(base + r) * n + col0 + s]);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < kTileK; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb[2];
      for (int i = 0; i < 2; ++i)
        wmma::load_matrix_sync(fa[i], &sa[wy + 16 * i][kk], kTileK + kSkew);
      for (int j = 0; j < 2; ++j)
        wmma::load_matrix_sync(fb[j], &sb[kk][wx + 16 * j], kTileN + kSkew);
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) wmma::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      wmma::store_matrix_sync(&sc[wy + 16 * i][wx + 16 * j], acc[i][j], kTileN + 4,
                              wmma::mem_row_major);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTileM * kTileN / 2; i += blockDim.x) {
    const int r = i / (kTileN / 2), s = i % (kTileN / 2) * 2;
    const float x = fmaxf(sc[r][s] + bias[col0 + s], 0.0f),
                y = fmaxf(sc[r][s + 1] + bias[col0 + s + 1], 0.0f);
    *reinterpret_cast<half2*>(&c[(row0 + r) * n + col0 + s]) = __floats2half2_rn(x, y);
  }
}

int main() {
  const int m = 128, n = 128, k = 96;
  Random random(561);
  std::vector<half> a(m * k), b(k * n);
  for (half& value : a) value = __float2half(random.Float(-1, 1));
  for (half& value : b) value = __float2half(random.Float(-1, 1));
  const std::vector<float> bias = random.Floats(n, -1, 1);
  std::vector<double> want(m * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = bias[j];
      for (int l = 0; l < k; ++l)
        sum += static_cast<double>(__half2float(a[i * k + l])) * __half2float(b[l * n + j]);
      want[i * n + j] = std::max(sum, 0.0);
    }
  }
  DeviceArray<half> da(a), db(b), dc(m * n);
  DeviceArray<float> dbias(bias);
  Gemm<<<dim3(n / kTileN, m / kTileM), 128>>>(da.data(), db.data(), dbias.data(), dc.data(), m, n,
                                              k);
  LAUNCH_OK();
  std::vector<float> got;
  for (half value : dc.Get()) got.push_back(__half2float(value));
  ExpectNear("gemm", got, want, 6e-4, 1e-4);  // half has 11 bits
  std::printf("c[0] = %.5f, c[last] = %.5f\n", want[0], want[m * n - 1]);
  return Finish();
}
