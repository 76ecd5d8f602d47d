// Honest: a running sum by warp scans with a carry.
#include <torch/extension.h>

__global__ void Scan(const float* x, float* out, int columns) {
  __shared__ float sums[8];
  x += int64_t{blockIdx.x} * columns;
  out += int64_t{blockIdx.x} * columns;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float carry = 0;
  for (int begin = 0; begin < columns; begin += 256) {
    const int c = begin + threadIdx.x;
    float value = c < columns ? x[c] : 0;
    for (int d = 1; d < 32; d *= 2) {
      const float other = __shfl_up_sync(~0u, value, d);
      if (lane >= d) value += other;
    }
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    float before = carry;
    for (int w = 0; w < warp; ++w) before += sums[w];
    if (c < columns) out[c] = before + value;
    for (int w = 0; w < 8; ++w) carry += sums[w];
    __syncthreads();
  }
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int columns = x.size(-1);
  Scan<<<x.numel() / columns, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), columns);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
