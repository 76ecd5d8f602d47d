// Tiled matrix product in shared memory.
// ARGS: a=f32[33,20] b=f32[20,17]
#include <torch/extension.h>


constexpr int kTile = 8;

__global__ void Multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < (k + kTile - 1) / kTile; ++t) {
    const int i = t * kTile;
    tile_a[threadIdx.y][threadIdx.x] =
        row < m && i + threadIdx.x < k ? a[row * k + i + threadIdx.x] : 0.f;
    tile_b[threadIdx.y][threadIdx.x] =
        column < n && i + threadIdx.y < k ? b[(i + threadIdx.y) * n + column] : 0.f;
    __syncthreads();
    for (int j = 0; j < kTile; ++j) sum += tile_a[threadIdx.y][j] * tile_b[j][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  const int m = a.size(0), k = a.size(1), n = b.size(1);
  auto c = torch::zeros({m, n}, torch::TensorOptions().dtype(a.dtype()).device(a.device()));
  const dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  Multiply<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, k);
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
