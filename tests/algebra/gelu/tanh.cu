// Forward, wrong: the approximation by tanh where the task wants erf.
#include <torch/extension.h>

#include <algorithm>

__device__ __forceinline__ float Gelu(float x) {
  return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

__global__ void GeluVectors(const float* __restrict__ x, float* __restrict__ y, int64_t count) {
  const int64_t stride = (int64_t)gridDim.x * blockDim.x;
  const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int64_t vectors = count / 4;
  for (int64_t i = first; i < vectors; i += stride) {
    float4 v = reinterpret_cast<const float4*>(x)[i];
    v.x = Gelu(v.x);
    v.y = Gelu(v.y);
    v.z = Gelu(v.z);
    v.w = Gelu(v.w);
    reinterpret_cast<float4*>(y)[i] = v;
  }
  for (int64_t i = vectors * 4 + first; i < count; i += stride) y[i] = Gelu(x[i]);
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int64_t count = x.numel();
  const int64_t blocks = std::max<int64_t>(1, std::min<int64_t>((count / 4 + 255) / 256, 1056));
  GeluVectors<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), count);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
