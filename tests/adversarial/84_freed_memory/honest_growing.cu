// Honest: a workspace that stays from call to call, and is freed to get a larger one.
#include <torch/extension.h>

__global__ void Twice(const float* x, float* twice, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) twice[i] = 2 * x[i];
}

__global__ void Add(const float* twice, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = twice[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  const int64_t n = x.numel();
  static float* twice = nullptr;
  static int64_t room = 0;
  auto out = torch::empty_like(x);
  if (room < n) {
    if (twice != nullptr) cudaFree(twice);
    cudaMalloc(&twice, n * 4);
    room = n;
  }
  Twice<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), twice, n);
  Add<<<(n + 63) / 64, 64>>>(twice, y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
