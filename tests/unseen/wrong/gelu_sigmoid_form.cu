// x * sigmoid(1.702 x) instead of the error function.
#include <torch/extension.h>
__global__ void k(const float* x, float* y, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / (1.f + __expf(-1.702f * x[i]));
}
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  k<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
