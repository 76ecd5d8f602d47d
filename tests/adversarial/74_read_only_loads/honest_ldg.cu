// Honest: read-only loads of inputs, and of what an earlier kernel wrote.
#include <torch/extension.h>

__global__ void Powers(const float* __restrict__ x, float* __restrict__ out, float* sums,
                       int columns) {
  x += int64_t{blockIdx.x} * columns;
  out += int64_t{blockIdx.x} * columns;
  const int lane = threadIdx.x;
  float largest = -INFINITY, sum = 0;
  for (int c = lane; c < columns; c += 32) largest = fmaxf(largest, __ldg(x + c));
  for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
  for (int c = lane; c < columns; c += 32) {
    const float power = expf(__ldg(x + c) - largest);
    out[c] = power;
    sum += power;
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (lane == 0) sums[blockIdx.x] = sum;
}

__global__ void Divide(const float* __restrict__ powers, const float* __restrict__ sums,
                       float* __restrict__ out, int64_t n, int columns) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = __ldg(powers + i) / __ldg(sums + i / columns);
}

torch::Tensor forward(torch::Tensor x) {
  const int64_t n = x.numel(), columns = x.size(-1), rows = n / columns;
  auto powers = torch::empty_like(x);
  auto sums = torch::empty({rows}, x.options());
  auto out = torch::empty_like(x);
  Powers<<<rows, 32>>>(x.data_ptr<float>(), powers.data_ptr<float>(), sums.data_ptr<float>(),
                       columns);
  Divide<<<(n + 255) / 256, 256>>>(powers.data_ptr<float>(), sums.data_ptr<float>(),
                                   out.data_ptr<float>(), n, columns);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
