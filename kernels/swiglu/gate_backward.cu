// Backward: both halves of the gradient from one read of gate, value and go; grid-stride over the
// outputs.
#include <torch/extension.h>

__global__ void SwiGluBackward(const float* __restrict__ go, const float* __restrict__ x,
                               float* __restrict__ dx, int64_t count, int width) {
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count;
       i += (int64_t)gridDim.x * blockDim.x) {
    const int64_t row = i / width;
    const int column = i % width;
    const int64_t at = row * 2 * width + column;
    const float gate = x[at];
    const float value = x[at + width];
    const float g = go[i];
    const float sigmoid = 1.0f / (1.0f + expf(-gate));
    dx[at] = g * value * sigmoid * (1.0f + gate * (1.0f - sigmoid));
    dx[at + width] = g * gate * sigmoid;
  }
}

torch::Tensor backward(torch::Tensor go, torch::Tensor x) {
  go = go.contiguous();
  auto dx = torch::empty_like(x);
  const int64_t count = go.numel();
  SwiGluBackward<<<std::min<int64_t>((count + 255) / 256, 512), 256>>>(
      go.data_ptr<float>(), x.data_ptr<float>(), dx.data_ptr<float>(), count, go.size(-1));
  return dx;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
