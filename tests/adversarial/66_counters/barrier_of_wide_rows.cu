// Wide rows wait for one another at a barrier that counts arrivals and never starts over: behind
// the first call nobody waits any more.
#include <torch/extension.h>

__device__ unsigned arrived;

__global__ void Narrow(const float* x, float* out, int width) {
  const float* row = x + blockIdx.x * int64_t{width};
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 32) sum += row[i] * row[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void Wide(const float* x, float* out, float* parts, int rows, int width) {
  for (int r = 0; r < rows; ++r) {
    float sum = 0;
    for (int i = blockIdx.x * 32 + threadIdx.x; i < width; i += gridDim.x * 32) {
      sum += x[r * int64_t{width} + i] * x[r * int64_t{width} + i];
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0) parts[r * gridDim.x + blockIdx.x] = sum;
  }
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&arrived, 1);
    while (atomicAdd(&arrived, 0) < gridDim.x) {
    }
    __threadfence();
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
      float sum = 0;
      for (int i = 0; i < gridDim.x; ++i) sum += __ldcg(&parts[r * gridDim.x + i]);
      out[r] = sum;
    }
  }
}

torch::Tensor forward(torch::Tensor x) {
  const int rows = x.size(0), width = x.size(1);
  auto out = torch::empty({rows}, x.options());
  if (width < 1000) {
    Narrow<<<rows, 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), width);
  } else {
    auto parts = torch::empty({rows, 8}, x.options());
    Wide<<<8, 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), parts.data_ptr<float>(), rows,
                    width);
  }
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
