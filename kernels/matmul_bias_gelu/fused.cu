// Forward: tiled product whose epilogue adds the bias and applies the tanh form of GELU.
#include <torch/extension.h>

constexpr int kRows = 32, kColumns = 32, kDepth = 16;

__device__ float GeluTanh(float x) {
  constexpr float kAlpha = 0.7978845608028654f;  // sqrt(2 / pi)
  return 0.5f * x * (1.0f + tanhf(kAlpha * (x + 0.044715f * x * x * x)));
}

// 256 threads make 32 x 32 of the result, four rows each.
__global__ void MatmulBiasGelu(const float* __restrict__ a, const float* __restrict__ b,
                               const float* __restrict__ bias, float* __restrict__ c, int m, int n,
                               int k) {
  __shared__ float as[kRows][kDepth];
  __shared__ float bs[kDepth][kColumns];
  const int column = threadIdx.x % kColumns;
  const int first_row = threadIdx.x / kColumns;  // then every eighth
  const int row0 = blockIdx.y * kRows, column0 = blockIdx.x * kColumns;
  float sums[4] = {0.f, 0.f, 0.f, 0.f};
  for (int k0 = 0; k0 < k; k0 += kDepth) {
    for (int e = threadIdx.x; e < kRows * kDepth; e += blockDim.x) {
      const int r = e / kDepth, d = e % kDepth;
      as[r][d] = row0 + r < m && k0 + d < k ? a[(row0 + r) * k + k0 + d] : 0.f;
    }
    for (int e = threadIdx.x; e < kDepth * kColumns; e += blockDim.x) {
      const int d = e / kColumns, q = e % kColumns;
      bs[d][q] = k0 + d < k && column0 + q < n ? b[(k0 + d) * n + column0 + q] : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const float v = bs[d][column];
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[i] += as[first_row + 8 * i][d] * v;
    }
    __syncthreads();
  }
  if (column0 + column >= n) return;
  for (int i = 0; i < 4; ++i) {
    const int row = row0 + first_row + 8 * i;
    if (row < m) c[row * n + column0 + column] = GeluTanh(sums[i] + bias[column0 + column]);
  }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b, torch::Tensor bias) {
  const int m = a.size(0), k = a.size(1), n = b.size(1);
  auto c = torch::empty({m, n}, a.options());
  const dim3 grid((n + kColumns - 1) / kColumns, (m + kRows - 1) / kRows);
  MatmulBiasGelu<<<grid, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), bias.data_ptr<float>(),
                                c.data_ptr<float>(), m, n, k);
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
