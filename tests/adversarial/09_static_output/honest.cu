// Honest: a static workspace, but a result of its own for every call.
#include <torch/extension.h>

__global__ void Twice(const float* x, float* t, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) t[i] = 2 * x[i];
}

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  static torch::Tensor workspace;
  if (!workspace.defined() || workspace.numel() != x.numel()) workspace = torch::empty_like(x);
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  float* twice = workspace.data_ptr<float>();
  Twice<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), twice, n);
  Axpy<<<(n + 255) / 256, 256>>>(twice, y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
