// Views of one buffer as results.
// ARGS: x=f32[10]
#include <torch/extension.h>


using namespace torch::indexing;

__global__ void Fill(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x];
}

std::vector<torch::Tensor> forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  Fill<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  auto parts = y.chunk(2);
  return {parts[0], parts[1], y.index({Slice(1, None, 3)}), y.narrow(0, 2, 3), y[4]};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
