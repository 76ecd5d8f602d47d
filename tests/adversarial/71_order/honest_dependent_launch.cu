// Honest: the second kernel begins early and waits for the first before it reads what that writes.
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

__global__ void Twice(const float* x, float* twice, int64_t n) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) twice[i] = 2 * x[i];
}

__global__ void Add(const float* twice, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  cudaGridDependencySynchronize();
  if (i < n) out[i] = twice[i] + y[i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  const cudaStream_t caller = c10::cuda::getCurrentCUDAStream();
  auto twice = torch::empty_like(x);
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Twice<<<(n + 255) / 256, 256, 0, caller>>>(x.data_ptr<float>(), twice.data_ptr<float>(), n);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3((n + 255) / 256);
  config.blockDim = dim3(256);
  config.stream = caller;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const float *from = twice.data_ptr<float>(), *other = y.data_ptr<float>();
  cudaLaunchKernelEx(&config, Add, from, other, out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
