// A cooperative launch.
// ARGS: x=f32[128]
#include <c10/cuda/CUDAException.h>
#include <torch/extension.h>


#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void Normalise(const float* x, float* partial, float* y, int n) {
  cg::grid_group grid = cg::this_grid();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int j = 0; j < blockDim.x; ++j) sum += x[blockIdx.x * blockDim.x + j];
    partial[blockIdx.x] = sum;
  }
  grid.sync();
  float total = 0;
  for (int b = 0; b < gridDim.x; ++b) total += partial[b];
  if (i < n) y[i] = x[i] - total / n;
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  auto partial = torch::empty({4}, x.options());
  const float* in = x.data_ptr<float>();
  float* scratch = partial.data_ptr<float>();
  float* out = y.data_ptr<float>();
  int n = x.numel();
  void* arguments[] = {&in, &scratch, &out, &n};
  C10_CUDA_CHECK(cudaLaunchCooperativeKernel((void*)Normalise, dim3(4), dim3(32), arguments, 0, 0));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
