// The result has the right shape and values, but lies column by column: view(-1) fails on it.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t rows, int64_t width) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < rows * width) out[i % width * rows + i / width] = 2 * x[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  const int64_t rows = x.size(0), width = x.size(1);
  auto out = torch::empty({width, rows}, x.options());
  Axpy<<<(rows * width + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                            out.data_ptr<float>(), rows, width);
  return out.t();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
