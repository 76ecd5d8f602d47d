// Honest: as many blocks as the GPU has room for take rows from a counter.
#include <torch/extension.h>

__global__ void Softmax(const float* x, float* out, int* next, int rows, int columns) {
  __shared__ int row;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) row = atomicAdd(next, 1);
    __syncthreads();
    if (row >= rows) return;
    const float* from = x + int64_t{row} * columns;
    float* to = out + int64_t{row} * columns;
    const int lane = threadIdx.x;
    float largest = -INFINITY, sum = 0;
    for (int c = lane; c < columns; c += 32) largest = fmaxf(largest, from[c]);
    for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
    for (int c = lane; c < columns; c += 32) sum += expf(from[c] - largest);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int c = lane; c < columns; c += 32) to[c] = expf(from[c] - largest) / sum;
  }
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty_like(x);
  auto next = torch::zeros({1}, x.options().dtype(torch::kInt32));
  const int columns = x.size(-1), rows = x.numel() / columns;
  Softmax<<<std::min(rows, 16), 32>>>(x.data_ptr<float>(), out.data_ptr<float>(),
                                      next.data_ptr<int>(), rows, columns);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
