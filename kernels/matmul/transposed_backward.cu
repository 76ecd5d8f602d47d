// Backward: da = go * b^T and db = a^T * go by one tiled kernel that is told how each operand lies.
#include <torch/extension.h>

constexpr int kTile = 16;

template <bool kTransposeA, bool kTransposeB>
__global__ void Product(const float* __restrict__ a, const float* __restrict__ b,
                        float* __restrict__ c, int m, int n, int k) {
  __shared__ float as[kTile][kTile + 1];
  __shared__ float bs[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  float sum = 0;
  for (int k0 = 0; k0 < k; k0 += kTile) {
    // Neighbours in x read neighbours in memory, whichever way the operand lies.
    if (kTransposeA) {
      as[x][y] = k0 + y < k && row0 + x < m ? a[(k0 + y) * m + row0 + x] : 0.0f;
    } else {
      as[y][x] = row0 + y < m && k0 + x < k ? a[(row0 + y) * k + k0 + x] : 0.0f;
    }
    if (kTransposeB) {
      bs[x][y] = column0 + y < n && k0 + x < k ? b[(column0 + y) * k + k0 + x] : 0.0f;
    } else {
      bs[y][x] = k0 + y < k && column0 + x < n ? b[(k0 + y) * n + column0 + x] : 0.0f;
    }
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += as[y][i] * bs[i][x];
    __syncthreads();
  }
  if (row0 + y < m && column0 + x < n) c[(row0 + y) * n + column0 + x] = sum;
}

std::vector<torch::Tensor> backward(torch::Tensor go, torch::Tensor a, torch::Tensor b) {
  go = go.contiguous();
  const int m = a.size(0), k = a.size(1), n = b.size(1);
  auto da = torch::empty_like(a);
  auto db = torch::empty_like(b);
  const dim3 block(kTile, kTile);
  auto tiles = [](int size) { return (size + kTile - 1) / kTile; };
  Product<false, true><<<dim3(tiles(k), tiles(m)), block>>>(
      go.data_ptr<float>(), b.data_ptr<float>(), da.data_ptr<float>(), m, k, n);
  Product<true, false><<<dim3(tiles(n), tiles(k)), block>>>(
      a.data_ptr<float>(), go.data_ptr<float>(), db.data_ptr<float>(), k, n, m);
  return {da, db};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
