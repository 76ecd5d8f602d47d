// A table of pointers that the host uploads.
// ARGS: xs=[f32[10],f32[10],f32[10]]
#include <torch/extension.h>


__global__ void Sum(const float* const* tables, int count, float* out, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int t = 0; t < count; ++t) sum += tables[t][i];
  out[i] = sum;
}

torch::Tensor forward(std::vector<torch::Tensor> xs) {
  std::vector<const float*> host;
  for (const auto& x : xs) host.push_back(x.data_ptr<float>());
  const float** device = nullptr;
  cudaMalloc(&device, host.size() * sizeof(float*));
  cudaMemcpy(device, host.data(), host.size() * sizeof(float*), cudaMemcpyHostToDevice);
  auto out = torch::empty_like(xs[0]);
  Sum<<<1, 32>>>(device, host.size(), out.data_ptr<float>(), out.numel());
  cudaFree(device);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
