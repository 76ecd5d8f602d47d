// Several results as a tuple.
// ARGS: x=f32[6,20]
#include <torch/extension.h>


__global__ void Moments(const float* x, float* mean, float* variance, int columns) {
  float sum = 0, squares = 0;
  for (int i = 0; i < columns; ++i) {
    const float v = x[blockIdx.x * columns + i];
    sum += v;
    squares += v * v;
  }
  mean[blockIdx.x] = sum / columns;
  variance[blockIdx.x] = squares / columns - (sum / columns) * (sum / columns);
}

std::tuple<torch::Tensor, torch::Tensor> forward(torch::Tensor x) {
  auto mean = torch::empty({x.size(0)}, x.options());
  auto variance = torch::empty({x.size(0)}, x.options());
  Moments<<<x.size(0), 1>>>(x.data_ptr<float>(), mean.data_ptr<float>(),
                            variance.data_ptr<float>(), x.size(1));
  return std::make_tuple(mean, variance);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
