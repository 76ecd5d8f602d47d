// Forward, float16: tensor cores by nvcuda::wmma; tiles with edges go through shared memory, sums
// stay in float.
#include <cuda_fp16.h>
#include <mma.h>
#include <torch/extension.h>

using namespace nvcuda;

constexpr int kTile = 16;

// One warp makes one 16 x 16 tile.
__global__ void MatmulWmma(const half* __restrict__ a, const half* __restrict__ b,
                           half* __restrict__ c, int m, int n, int k) {
  __shared__ __align__(32) half as[kTile * kTile];
  __shared__ __align__(32) half bs[kTile * kTile];
  __shared__ __align__(32) float cs[kTile * kTile];
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int k0 = 0; k0 < k; k0 += kTile) {
    for (int e = threadIdx.x; e < kTile * kTile; e += 32) {
      const int r = e / kTile, q = e % kTile;
      as[e] = row0 + r < m && k0 + q < k ? a[(size_t)(row0 + r) * k + k0 + q] : __float2half(0.0f);
      bs[e] = k0 + r < k && column0 + q < n ? b[(size_t)(k0 + r) * n + column0 + q]
                                            : __float2half(0.0f);
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, half, wmma::row_major> fb;
    wmma::load_matrix_sync(fa, as, kTile);
    wmma::load_matrix_sync(fb, bs, kTile);
    wmma::mma_sync(sums, fa, fb, sums);
    __syncwarp();
  }
  wmma::store_matrix_sync(cs, sums, kTile, wmma::mem_row_major);
  __syncwarp();
  for (int e = threadIdx.x; e < kTile * kTile; e += 32) {
    const int r = row0 + e / kTile, q = column0 + e % kTile;
    if (r < m && q < n) c[(size_t)r * n + q] = __float2half(cs[e]);
  }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  TORCH_CHECK(a.scalar_type() == torch::kHalf);
  const int m = a.size(0), k = a.size(1), n = b.size(1);
  auto c = torch::empty({m, n}, a.options());
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  MatmulWmma<<<grid, 32>>>(reinterpret_cast<const half*>(a.data_ptr<at::Half>()),
                           reinterpret_cast<const half*>(b.data_ptr<at::Half>()),
                           reinterpret_cast<half*>(c.data_ptr<at::Half>()), m, n, k);
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
