// Device guards, current streams, device properties.
// ARGS: x=f32[64]
#include <torch/extension.h>


#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

__global__ void Abs(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = fabsf(x[i]);
  }
}

torch::Tensor forward(torch::Tensor x) {
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  c10::cuda::CUDAGuard other(x.device());
  const int blocks = std::min<int>(at::cuda::getCurrentDeviceProperties()->multiProcessorCount, 2);
  auto y = torch::empty_like(x);
  Abs<<<blocks, 32, 0, at::cuda::getCurrentCUDAStream().stream()>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  AT_CUDA_CHECK(cudaGetLastError());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
