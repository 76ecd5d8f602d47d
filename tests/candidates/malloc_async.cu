// Stream-ordered allocation.
// ARGS: x=f32[32]
#include <torch/extension.h>


__global__ void Copy(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] - 1;
}

torch::Tensor forward(torch::Tensor x) {
  float* temporary = nullptr;
  cudaMallocAsync(&temporary, x.nbytes(), 0);
  Copy<<<1, 32>>>(x.data_ptr<float>(), temporary, x.numel());
  auto y = torch::empty_like(x);
  Copy<<<1, 32>>>(temporary, y.data_ptr<float>(), x.numel());
  cudaFreeAsync(temporary, 0);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
