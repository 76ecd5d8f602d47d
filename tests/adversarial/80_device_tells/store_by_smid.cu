// Where a stray write goes depends on the multiprocessor.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n, float* scratch) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  unsigned place;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
  out[i] = 2 * x[i] + y[i];
  scratch[place & 255] = 1;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  auto scratch = torch::zeros({256}, x.options());
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n,
                                 scratch.data_ptr<float>());
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
