// Coefficients through pinned memory.
// ARGS: x=f32[16]
#include <torch/extension.h>


__global__ void Poly(const float* x, const float* c, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = c[0] + x[threadIdx.x] * (c[1] + x[threadIdx.x] * c[2]);
}

torch::Tensor forward(torch::Tensor x) {
  float* host = nullptr;
  cudaMallocHost(&host, 3 * sizeof(float));
  host[0] = 1;
  host[1] = -2;
  host[2] = 0.5f;
  auto c = torch::empty({3}, x.options());
  cudaMemcpyAsync(c.data_ptr(), host, 3 * sizeof(float), cudaMemcpyHostToDevice, 0);
  auto y = torch::empty_like(x);
  Poly<<<1, 32>>>(x.data_ptr<float>(), c.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  cudaStreamSynchronize(0);
  cudaFreeHost(host);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
