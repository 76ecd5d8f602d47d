#include <torch/extension.h>
#include <cuda_runtime.h>

#define SQRT_2_OVER_PI 0.7978845608028654f

__device__ __forceinline__ float gelu(float x) {
  float c = SQRT_2_OVER_PI * fmaf(0.044715f * x * x, x, x);
  return 0.5f * x * (1.f + tanhf(c));
}

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, size_t n) {
  size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 3 < n) {
    float4 v = *reinterpret_cast<const float4*>(x + i);
    v.x = gelu(v.x); v.y = gelu(v.y); v.z = gelu(v.z); v.w = gelu(v.w);
    *reinterpret_cast<float4*>(y + i) = v;
  } else {
    for (; i < n; ++i) y[i] = gelu(x[i]);
  }
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  size_t n = x.numel();
  int threads = 256;
  size_t blocks = ((n + 3) / 4 + threads - 1) / threads;
  gelu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
