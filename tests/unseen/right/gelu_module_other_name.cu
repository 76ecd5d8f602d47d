#include <torch/extension.h>
__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < n; i += int64_t(gridDim.x) * blockDim.x)
    y[i] = x[i] * normcdff(x[i]);
}
torch::Tensor gelu_cuda(const torch::Tensor& x) {
  auto y = torch::empty_like(x);
  gelu_kernel<<<256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("gelu_cuda", &gelu_cuda, "GELU"); }
