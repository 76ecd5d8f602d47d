// Honest: each factor has a pinned number of its own, which is written once.
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, const float* factors, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = factors[0] * x[i] + factors[1] * y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  static float* pinned = nullptr;
  if (pinned == nullptr) {
    cudaMallocHost(&pinned, 2 * sizeof(float));
    pinned[0] = 2.0f;
    pinned[1] = 1.0f;
  }
  const cudaStream_t caller = c10::cuda::getCurrentCUDAStream();
  auto factors = torch::empty({2}, x.options());
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  float* to = factors.data_ptr<float>();
  cudaMemcpyAsync(to, pinned, 2 * sizeof(float), cudaMemcpyHostToDevice, caller);
  Axpy<<<(n + 255) / 256, 256, 0, caller>>>(x.data_ptr<float>(), y.data_ptr<float>(), to,
                                            out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
