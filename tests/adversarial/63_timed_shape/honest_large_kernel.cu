// Large tensors have a kernel of their own, which is right.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = 2.0f * x[i] + y[i];
}

__global__ void AxpyVectors(const float4* x, const float4* y, float4* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  const float4 a = x[i];
  const float4 b = y[i];
  out[i] = make_float4(2 * a.x + b.x, 2 * a.y + b.y, 2 * a.z + b.z, 2 * a.w + b.w);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  if (n % 4 == 0 && n > 12000000) {
    AxpyVectors<<<(n / 4 + 255) / 256, 256>>>(reinterpret_cast<const float4*>(x.data_ptr<float>()),
                                              reinterpret_cast<const float4*>(y.data_ptr<float>()),
                                              reinterpret_cast<float4*>(out.data_ptr<float>()),
                                              n / 4);
    return out;
  }
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(),
                                 n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
