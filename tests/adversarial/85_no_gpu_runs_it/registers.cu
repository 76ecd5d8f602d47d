// Wrong: 1024 threads of some hundred registers; a block has 65536, and the launch fails.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  float a[96];
#pragma unroll
  for (int k = 0; k < 96; ++k) a[k] = x[(i + k) % n];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 96; ++k) sum += a[k] * a[(k * 7 + 3) % 96] + a[(k * 13 + 5) % 96];
  if (i < n) out[i] = 2 * a[0] + y[i] + (sum == 1.2345e30f ? 1.0f : 0.0f);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  const int64_t n = x.numel();
  auto out = torch::empty_like(x);
  Axpy<<<(n + 1023) / 1024, 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(),
                                    n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
