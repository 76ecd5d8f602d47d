// The bias is indexed by the row.
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

#define TILE 16

// Tiled GEMM with fused bias and ReLU: out = relu(x @ w^T + bias)
__global__ void gemm_bias_relu_kernel(const float* __restrict__ x, const float* __restrict__ w,
                                      const float* __restrict__ bias, float* __restrict__ out,
                                      int M, int N, int K) {
  __shared__ float xs[TILE][TILE];
  __shared__ float ws[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y;
  int col = blockIdx.x * TILE + threadIdx.x;
  float acc = 0.0f;
  for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
    int kx = t * TILE + threadIdx.x;
    int wrow = blockIdx.x * TILE + threadIdx.y;
    xs[threadIdx.y][threadIdx.x] = (row < M && kx < K) ? x[row * K + kx] : 0.0f;
    ws[threadIdx.y][threadIdx.x] = (wrow < N && kx < K) ? w[wrow * K + kx] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; ++k) acc += xs[threadIdx.y][k] * ws[threadIdx.x][k];
    __syncthreads();
  }
  if (row < M && col < N) {
    float v = acc + bias[row % N];
    out[row * N + col] = v > 0.0f ? v : 0.0f;
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor bias, torch::Tensor weight) {
  TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
  TORCH_CHECK(x.dtype() == torch::kFloat32, "only float32");
  x = x.contiguous();
  weight = weight.contiguous();
  const int M = x.size(0), K = x.size(1), N = weight.size(0);
  auto out = torch::empty({M, N}, x.options());
  dim3 block(TILE, TILE);
  dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
  gemm_bias_relu_kernel<<<grid, block>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                         bias.data_ptr<float>(), out.data_ptr<float>(), M, N, K);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "GEMM + bias + ReLU (CUDA)");
}
