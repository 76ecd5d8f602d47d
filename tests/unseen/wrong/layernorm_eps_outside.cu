// eps is added outside of the root.
#include <torch/extension.h>
__device__ float block_sum(float v, float* s) {
  s[threadIdx.x] = v;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  v = s[0];
  __syncthreads();
  return v;
}
__global__ void layernorm(const float* x, const float* w, const float* b, float* y, int n, float eps) {
  __shared__ float s[256];
  x += (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += x[i];
  float mean = block_sum(sum, s) / n;
  float sq = 0;
  for (int i = threadIdx.x; i < n; i += 256) sq += (x[i] - mean) * (x[i] - mean);
  float inv = 1.f / (sqrtf(block_sum(sq, s) / n) + eps);
  for (int i = threadIdx.x; i < n; i += 256) y[i] = (x[i] - mean) * inv * w[i] + b[i];
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
  auto y = torch::empty_like(x);
  layernorm<<<x.size(0), 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                y.data_ptr<float>(), (int)w.numel(), (float)eps);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
