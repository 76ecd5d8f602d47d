// C = A^T B with 64x64 tiles, 4x4 results a thread, K tiles of 16.
#include <torch/extension.h>

constexpr int BM = 64, BN = 64, BK = 16, TM = 4, TN = 4;

__global__ void __launch_bounds__(256) sgemm_tn(int M, int N, int K, const float* __restrict__ A,
                                                const float* __restrict__ B, float* __restrict__ C) {
  __shared__ float As[BK][BM];
  __shared__ float Bs[BK][BN];
  const int tid = threadIdx.x;
  const int tx = tid % (BN / TN), ty = tid / (BN / TN);
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  float acc[TM][TN] = {};
  float ra[TM], rb[TN];
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = tid; i < BK * BM; i += 256) {
      const int k = i / BM, m = i % BM;
      As[k][m] = (k0 + k < K && m0 + m < M) ? A[(size_t)(k0 + k) * M + m0 + m] : 0.f;
    }
    for (int i = tid; i < BK * BN; i += 256) {
      const int k = i / BN, n = i % BN;
      Bs[k][n] = (k0 + k < K && n0 + n < N) ? B[(size_t)(k0 + k) * N + n0 + n] : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int i = 0; i < TM; ++i) ra[i] = As[k][ty * TM + i];
#pragma unroll
      for (int j = 0; j < TN; ++j) rb[j] = Bs[k][tx * TN + j];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(ra[i], rb[j], acc[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) {
      const int m = m0 + ty * TM + i, n = n0 + tx * TN + j;
      if (m < M && n < N) C[(size_t)m * N + n] = acc[i][j];
    }
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
  TORCH_CHECK(A.size(0) == B.size(0), "inner dimensions must match");
  auto a = A.contiguous(), b = B.contiguous();
  const int K = a.size(0), M = a.size(1), N = b.size(1);
  auto C = torch::empty({M, N}, a.options());
  sgemm_tn<<<dim3((N + BN - 1) / BN, (M + BM - 1) / BM), 256>>>(
      M, N, K, a.data_ptr<float>(), b.data_ptr<float>(), C.data_ptr<float>());
  return C;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
