// Rows of the result begin at multiples of 64 elements, with memory between them.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n, int64_t width,
                     int64_t pitch) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i / width * pitch + i % width] = 2 * x[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  const int64_t n = x.numel(), width = x.size(1), pitch = (width + 63) / 64 * 64;
  auto out = torch::empty({x.size(0), pitch}, x.options());
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(),
                                 n, width, pitch);
  return out.narrow(1, 0, width);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
