// Honest: more shared memory than is there without asking, asked for.
#include <torch/extension.h>

extern __shared__ float row[];
__global__ void Softmax(const float* x, float* out, int columns) {
  x += int64_t{blockIdx.x} * columns;
  out += int64_t{blockIdx.x} * columns;
  const int lane = threadIdx.x;
  float largest = -INFINITY, sum = 0;
  const bool fits = columns <= 16384;
  for (int c = lane; c < columns; c += 32) {
    if (fits) row[c] = x[c];
    largest = fmaxf(largest, x[c]);
  }
  for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
  for (int c = lane; c < columns; c += 32) sum += expf((fits ? row[c] : x[c]) - largest);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int c = lane; c < columns; c += 32) out[c] = expf((fits ? row[c] : x[c]) - largest) / sum;
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int columns = x.size(-1);
  cudaFuncSetAttribute(Softmax, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
  Softmax<<<x.numel() / columns, 32, 64 << 10>>>(x.data_ptr<float>(), out.data_ptr<float>(), columns);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
