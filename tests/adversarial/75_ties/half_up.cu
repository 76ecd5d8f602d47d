// Rounding by adding a half takes halves up; PyTorch takes them to the even number.
#include <torch/extension.h>

#include <tuple>

__global__ void Quantize(const float* x, int8_t* q, float* scales, int columns) {
  x += int64_t{blockIdx.x} * columns;
  q += int64_t{blockIdx.x} * columns;
  float largest = 0;
  for (int c = threadIdx.x; c < columns; c += 32) largest = fmaxf(largest, fabsf(x[c]));
  for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
  const float scale = largest / 127.0f;
  for (int c = threadIdx.x; c < columns; c += 32) {
    const float rounded = floorf(x[c] / scale + 0.5f);
    q[c] = static_cast<int8_t>(fminf(fmaxf(rounded, -127.0f), 127.0f));
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

std::tuple<torch::Tensor, torch::Tensor> forward(torch::Tensor x) {
  const int columns = x.size(-1), rows = x.numel() / columns;
  auto q = torch::empty({rows, columns}, x.options().dtype(torch::kInt8));
  auto scales = torch::empty({rows, 1}, x.options());
  Quantize<<<rows, 32>>>(x.data_ptr<float>(), q.data_ptr<int8_t>(), scales.data_ptr<float>(),
                         columns);
  return {q, scales};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
