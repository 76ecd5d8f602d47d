// Honest: many elements go to blocks that draw tiles, with a barrier before and behind each draw.
#include <torch/extension.h>

__global__ void Few(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = 2 * x[i] + y[i];
}

__global__ void Many(const float* x, const float* y, float* out, int64_t n, int* next) {
  __shared__ int tile;
  if (threadIdx.x == 255) tile = atomicAdd(next, 1);
  __syncthreads();
  while (true) {
    const int64_t begin = int64_t{tile} * 256, i = begin + threadIdx.x;
    if (begin >= n) return;
    if (i < n) out[i] = 2 * x[i] + y[i];
    __syncthreads();
    if (threadIdx.x == 255) tile = atomicAdd(next, 1);
    __syncthreads();
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  if (n <= 65536) {
    Few<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(),
                                  n);
    return out;
  }
  auto next = torch::zeros({1}, x.options().dtype(torch::kInt32));
  Many<<<64, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n,
                    next.data_ptr<int>());
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
