// The launch is chosen by the occupancy API.
// ARGS: x=f32[100]
#include <torch/extension.h>


__global__ void Cube(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = x[i] * x[i] * x[i];
  }
}

torch::Tensor forward(torch::Tensor x) {
  int blocks = 0, threads = 0;
  cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, Cube, 0, 0);
  auto y = torch::empty_like(x);
  Cube<<<2, std::min(threads, 64)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
