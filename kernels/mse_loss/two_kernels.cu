// Forward: blocks leave their sums in a workspace, a second kernel of one block adds them up.
// Deterministic.
#include <torch/extension.h>

#include <algorithm>

constexpr int kThreads = 256;

__device__ float SumOfBlock(float v) {
  __shared__ float tree[kThreads];
  tree[threadIdx.x] = v;
  __syncthreads();
#pragma unroll
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
    __syncthreads();
  }
  return tree[0];
}

__global__ void PartialSums(const float* __restrict__ a, const float* __restrict__ b,
                            float* __restrict__ partial, int64_t count) {
  float sum = 0;
  for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < count;
       i += (int64_t)gridDim.x * kThreads) {
    const float d = a[i] - b[i];
    sum += d * d;
  }
  sum = SumOfBlock(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void Finish(const float* __restrict__ partial, float* __restrict__ out, int blocks,
                       float inverse) {
  float sum = 0;
  for (int i = threadIdx.x; i < blocks; i += kThreads) sum += partial[i];
  sum = SumOfBlock(sum);
  if (threadIdx.x == 0) *out = sum * inverse;
}

torch::Tensor forward(torch::Tensor prediction, torch::Tensor target) {
  const int64_t count = prediction.numel();
  const int blocks = std::min<int64_t>((count + kThreads * 4 - 1) / (kThreads * 4), 1024);
  auto partial = torch::empty({blocks}, prediction.options());
  auto out = torch::empty({}, prediction.options());
  PartialSums<<<blocks, kThreads>>>(prediction.data_ptr<float>(), target.data_ptr<float>(),
                                    partial.data_ptr<float>(), count);
  Finish<<<1, kThreads>>>(partial.data_ptr<float>(), out.data_ptr<float>(), blocks, 1.0f / count);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
