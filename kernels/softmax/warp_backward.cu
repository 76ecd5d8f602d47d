// Backward: recomputes the softmax of the row in one online pass, then dx = y * (go - sum(go * y)).
// One warp a row.
#include <torch/extension.h>

__global__ void SoftmaxBackward(const float* __restrict__ go, const float* __restrict__ x,
                                float* __restrict__ dx, int rows, int columns) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;  // a whole warp leaves
  go += (size_t)row * columns;
  x += (size_t)row * columns;
  dx += (size_t)row * columns;

  // sum of exp(x - m) and of go * exp(x - m), rescaled whenever the maximum grows
  float m = -1e30f, sum = 0, dot = 0;
  for (int c = lane; c < columns; c += 32) {
    const float v = x[c];
    const float larger = fmaxf(m, v);
    const float rescale = expf(m - larger);
    const float e = expf(v - larger);
    sum = sum * rescale + e;
    dot = dot * rescale + e * go[c];
    m = larger;
  }
  for (int mask = 1; mask < 32; mask *= 2) {
    const float other_m = __shfl_xor_sync(0xffffffffu, m, mask);
    const float other_sum = __shfl_xor_sync(0xffffffffu, sum, mask);
    const float other_dot = __shfl_xor_sync(0xffffffffu, dot, mask);
    const float larger = fmaxf(m, other_m);
    const float a = expf(m - larger), b = expf(other_m - larger);
    sum = sum * a + other_sum * b;
    dot = dot * a + other_dot * b;
    m = larger;
  }

  const float mean = dot / sum;
  for (int c = lane; c < columns; c += 32) dx[c] = expf(x[c] - m) / sum * (go[c] - mean);
}

torch::Tensor backward(torch::Tensor go, torch::Tensor x) {
  go = go.contiguous();
  auto dx = torch::empty_like(x);
  const int columns = x.size(-1);
  const int rows = x.numel() / columns;
  SoftmaxBackward<<<(rows + 3) / 4, 128>>>(go.data_ptr<float>(), x.data_ptr<float>(),
                                           dx.data_ptr<float>(), rows, columns);
  return dx;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
