// launch through cudaLaunchKernel and a function pointer.
// ARGS: x=f32[20]
#include <c10/cuda/CUDAException.h>
#include <torch/extension.h>


__global__ void Half(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] / 2;
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  int n = x.numel();
  void* arguments[] = {&in, &out, &n};
  AT_CUDA_CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(&Half), dim3(1), dim3(32), arguments,
                                 0, nullptr));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
