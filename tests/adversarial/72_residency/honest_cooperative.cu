// Honest: a cooperative launch, which the runtime refuses if not all blocks fit.
#include <ATen/cuda/CUDAContext.h>
#include <cooperative_groups.h>
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* twice, float* out, int64_t n) {
  const int64_t first = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < n; i += step) twice[i] = 2 * x[i];
  cooperative_groups::this_grid().sync();
  for (int64_t i = first; i < n; i += step) out[n - 1 - i] = twice[n - 1 - i] + y[n - 1 - i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto twice = torch::empty_like(x);
  auto out = torch::empty_like(x);
  const float *a = x.data_ptr<float>(), *b = y.data_ptr<float>();
  float *between = twice.data_ptr<float>(), *to = out.data_ptr<float>();
  int64_t n = x.numel();
  int processors = 0, blocks = 0;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, Axpy, 256, 0);
  const dim3 grid(std::min<int64_t>(processors * blocks, (n + 255) / 256));
  void* arguments[] = {&a, &b, &between, &to, &n};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Axpy), grid, dim3(256), arguments, 0,
                              at::cuda::getCurrentCUDAStream());
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
