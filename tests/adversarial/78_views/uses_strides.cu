// Honest: takes any strides, row by row.
#include <torch/extension.h>

struct Matrix {
  const float* data;
  int64_t rows_apart, columns_apart;
  __device__ float at(int64_t r, int64_t c) const {
    return data[r * rows_apart + c * columns_apart];
  }
};

__global__ void Axpy(Matrix x, Matrix y, float* out, int64_t n, int64_t width) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = 2 * x.at(i / width, i % width) + y.at(i / width, i % width);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty(x.sizes(), x.options());
  const int64_t n = x.numel();
  const Matrix a{x.data_ptr<float>(), x.stride(0), x.stride(1)};
  const Matrix b{y.data_ptr<float>(), y.stride(0), y.stride(1)};
  Axpy<<<(n + 255) / 256, 256>>>(a, b, out.data_ptr<float>(), n, x.size(1));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
