// Every call's workspace is kept in a list that only grows.
#include <torch/extension.h>

#include <vector>

__global__ void Twice(const float* x, float* twice, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) twice[i] = 2 * x[i];
}

__global__ void Add(const float* twice, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = twice[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  static std::vector<torch::Tensor> workspaces;
  auto out = torch::empty_like(x);
  auto twice = torch::empty_like(x);
  workspaces.push_back(twice);
  const int64_t n = x.numel();
  Twice<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), twice.data_ptr<float>(), n);
  Add<<<(n + 255) / 256, 256>>>(twice.data_ptr<float>(), y.data_ptr<float>(),
                                out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
