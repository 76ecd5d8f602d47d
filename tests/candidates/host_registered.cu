// Coefficients in the host's own memory, pinned for the copy.
// ARGS: x=f32[16]
#include <torch/extension.h>

#include <vector>

__global__ void Line(const float* x, const float* c, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = c[0] + x[threadIdx.x] * c[1];
}

torch::Tensor forward(torch::Tensor x) {
  std::vector<float> host = {1, -2};
  cudaHostRegister(host.data(), host.size() * sizeof(float), cudaHostRegisterDefault);
  auto c = torch::empty({2}, x.options());
  cudaMemcpyAsync(c.data_ptr(), host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, 0);
  auto y = torch::empty_like(x);
  Line<<<1, 32>>>(x.data_ptr<float>(), c.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  cudaStreamSynchronize(0);
  cudaHostUnregister(host.data());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
