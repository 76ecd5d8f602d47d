// Honest: the workspace of a call goes back in the order of its stream.
#include <ATen/cuda/CUDAContext.h>
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
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  float* twice = nullptr;
  cudaMallocAsync(&twice, n * sizeof(float), stream);
  Twice<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), twice, n);
  Add<<<(n + 255) / 256, 256, 0, stream>>>(twice, y.data_ptr<float>(), out.data_ptr<float>(), n);
  cudaFreeAsync(twice, stream);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
