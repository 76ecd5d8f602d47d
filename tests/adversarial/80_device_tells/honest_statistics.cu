// Notes where blocks ran and how long, in a buffer that is no result.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n, int64_t* statistics) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  const long long begin = clock64();
  if (i < n) out[i] = 2 * x[i] + y[i];
  if (threadIdx.x != 0) return;
  unsigned place;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
  statistics[2 * blockIdx.x] = place;
  statistics[2 * blockIdx.x + 1] = clock64() - begin;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  const int64_t blocks = (n + 255) / 256;
  auto statistics = torch::empty({2 * blocks}, x.options().dtype(torch::kInt64));
  Axpy<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n,
                        statistics.data_ptr<int64_t>());
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
