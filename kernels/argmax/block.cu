// Forward: a block a row; value and index go through a tree in shared memory together, ties to the
// smaller index.
#include <torch/extension.h>

constexpr int kThreads = 128;

__global__ void ArgMax(const float* __restrict__ x, int64_t* __restrict__ out, int width) {
  __shared__ float values[kThreads];
  __shared__ int indices[kThreads];
  const float* row = x + (size_t)blockIdx.x * width;
  float best = -INFINITY;
  int where = 0x7fffffff;
  for (int i = threadIdx.x; i < width; i += kThreads) {
    if (row[i] > best || where == 0x7fffffff) {
      best = row[i];
      where = i;
    }
  }
  values[threadIdx.x] = best;
  indices[threadIdx.x] = where;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) {
      const float v = values[threadIdx.x + s];
      const int i = indices[threadIdx.x + s];
      if (v > values[threadIdx.x] || (v == values[threadIdx.x] && i < indices[threadIdx.x])) {
        values[threadIdx.x] = v;
        indices[threadIdx.x] = i;
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = indices[0];
}

torch::Tensor forward(torch::Tensor x) {
  const int rows = x.size(0), width = x.size(1);
  auto out = torch::empty({rows}, x.options().dtype(torch::kInt64));
  ArgMax<<<rows, kThreads>>>(x.data_ptr<float>(), out.data_ptr<int64_t>(), width);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
