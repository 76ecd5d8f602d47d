// Honest: a generic element-wise kernel and a lambda.
#include <torch/extension.h>

template <typename F>
__global__ void ForEach(int64_t n, F f) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x) {
    f(i);
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const float* a = x.data_ptr<float>();
  const float* b = y.data_ptr<float>();
  float* to = out.data_ptr<float>();
  ForEach<<<64, 128>>>(x.numel(), [=] __device__(int64_t i) { to[i] = a[i] + a[i] + b[i]; });
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
