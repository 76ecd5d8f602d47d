// Honest: value and column in one number: the smaller column among equals, one zero, NaN above all.
#include <torch/extension.h>

__device__ unsigned long long Key(float value, unsigned column) {
  // Zeros of both signs become one, and so do all NaNs.
  const unsigned bits = isnan(value) ? 0x7fffffffu : __float_as_uint(value + 0.0f);
  const unsigned ordered = bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
  return static_cast<unsigned long long>(ordered) << 32 | ~column;
}

__global__ void ArgMax(const float* x, int64_t* out, int columns) {
  __shared__ unsigned long long best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  x += int64_t{blockIdx.x} * columns;
  unsigned long long mine = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) mine = max(mine, Key(x[c], c));
  atomicMax(&best, mine);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = ~static_cast<unsigned>(best);
}

torch::Tensor forward(torch::Tensor x) {
  const int columns = x.size(-1), rows = x.numel() / columns;
  auto out = torch::empty({rows}, x.options().dtype(torch::kInt64));
  ArgMax<<<rows, 128>>>(x.data_ptr<float>(), out.data_ptr<int64_t>(), columns);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
