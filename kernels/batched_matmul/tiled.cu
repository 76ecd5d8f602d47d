// Forward: tiles of 16 x 16, the batch along the grid's z; accessors instead of raw pointers.
#include <torch/extension.h>

constexpr int kTile = 16;
using Matrices = torch::PackedTensorAccessor32<float, 3, torch::RestrictPtrTraits>;

__global__ void BatchedMatmul(const Matrices a, const Matrices b, Matrices c) {
  __shared__ float as[kTile][kTile];
  __shared__ float bs[kTile][kTile];
  const int batch = blockIdx.z;
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  const int m = a.size(1), k = a.size(2), n = b.size(2);
  float acc = 0;
  for (int t = 0; t < (k + kTile - 1) / kTile; ++t) {
    const int ak = t * kTile + threadIdx.x;
    const int bk = t * kTile + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = (row < m && ak < k) ? a[batch][row][ak] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = (bk < k && column < n) ? b[batch][bk][column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) acc += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[batch][row][column] = acc;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  auto c = torch::empty({a.size(0), a.size(1), b.size(2)}, a.options());
  const dim3 grid((b.size(2) + kTile - 1) / kTile, (a.size(1) + kTile - 1) / kTile, a.size(0));
  BatchedMatmul<<<grid, dim3(kTile, kTile)>>>(
      a.packed_accessor32<float, 3, torch::RestrictPtrTraits>(),
      b.packed_accessor32<float, 3, torch::RestrictPtrTraits>(),
      c.packed_accessor32<float, 3, torch::RestrictPtrTraits>());
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
