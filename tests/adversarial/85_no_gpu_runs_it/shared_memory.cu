// Wrong: 80 KB of static shared memory, and 48 is all that the assembler takes.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  __shared__ float big[20000];
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  big[threadIdx.x] = i < n ? 2 * x[i] : 0;
  __syncthreads();
  if (i < n) out[i] = big[threadIdx.x] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  const int64_t n = x.numel();
  auto out = torch::empty_like(x);
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(),
                                 n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
