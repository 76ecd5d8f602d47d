// Backward: a thread an input; it gets the gradient if it is the first of the largest in its
// window, zero otherwise.
#include <torch/extension.h>

__global__ void MaxPoolBackward(const float* __restrict__ go, const float* __restrict__ x,
                                float* __restrict__ dx, int count, int size, int pooled) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const int ix = at % size, iy = at / size % size, plane = at / (size * size);
  const int px = ix / 2, py = iy / 2;
  float gradient = 0;
  if (px < pooled && py < pooled) {
    const float* in = x + (plane * size + 2 * py) * size + 2 * px;
    int winner = 0;
    float best = in[0];
    for (int i = 1; i < 4; ++i) {
      const float v = in[i / 2 * size + i % 2];
      if (v > best) {
        best = v;
        winner = i;
      }
    }
    if (winner == iy % 2 * 2 + ix % 2) gradient = go[(plane * pooled + py) * pooled + px];
  }
  dx[at] = gradient;
}

torch::Tensor backward(torch::Tensor go, torch::Tensor x) {
  go = go.contiguous();
  auto dx = torch::empty_like(x);
  const int count = x.numel(), size = x.size(2);
  MaxPoolBackward<<<(count + 127) / 128, 128>>>(go.data_ptr<float>(), x.data_ptr<float>(),
                                                dx.data_ptr<float>(), count, size, size / 2);
  return dx;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
