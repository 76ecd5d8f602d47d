// A loop over all elements with 64-bit places.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t stride = gridDim.x * int64_t{blockDim.x};
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n; i += stride) {
    out[i] = 2.0f * x[i] + y[i];
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<264, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
