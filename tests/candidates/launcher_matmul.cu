// A launcher whose sizes are called M, N and K.
// ARGS: a=f32[9,17] b=f32[17,5] -> f32[9,5]
__global__ void Multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

extern "C" void solve(const float* A, const float* B, float* C, int M, int N, int K) {
  const dim3 block(8, 8);
  Multiply<<<dim3((N + 7) / 8, (M + 7) / 8), block>>>(A, B, C, M, N, K);
  cudaDeviceSynchronize();
}
