// Partial sums of blocks, then one block adds them: no atomics, always the same bits.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

template <int kThreads>
__device__ float block_sum(float v) {
  __shared__ float shared[kThreads / 32];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if ((threadIdx.x & 31) == 0) shared[threadIdx.x >> 5] = v;
  __syncthreads();
  v = threadIdx.x < kThreads / 32 ? shared[threadIdx.x] : 0.f;
  if (threadIdx.x < 32)
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  return v;
}

template <int kThreads>
__global__ void hinge_partial(const float* p, const float* t, float* partial, int64_t rows,
                              int64_t cols) {
  float sum = 0.f;
  const int64_t total = rows * cols;
  for (int64_t i = blockIdx.x * (int64_t)kThreads + threadIdx.x; i < total;
       i += gridDim.x * (int64_t)kThreads)
    sum += fmaxf(0.f, 1.f - p[i] * t[i % cols]);  // targets broadcast over the last dim
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

template <int kThreads>
__global__ void finish(const float* partial, float* out, int n, float scale) {
  float sum = 0.f;
  for (int i = threadIdx.x; i < n; i += kThreads) sum += partial[i];
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) *out = sum * scale;
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
  const auto p = predictions.contiguous(), t = targets.contiguous();
  const int64_t total = p.numel();
  const int blocks = (int)std::min<int64_t>(1024, (total + 255) / 256);
  auto partial = torch::empty({blocks}, p.options());
  auto out = torch::empty({}, p.options());
  cudaStream_t stream = at::cuda::getCurrentCUDAStream().stream();
  hinge_partial<256><<<blocks, 256, 0, stream>>>(p.data_ptr<float>(), t.data_ptr<float>(),
                                                 partial.data_ptr<float>(), p.size(0), p.size(1));
  finish<256><<<1, 256, 0, stream>>>(partial.data_ptr<float>(), out.data_ptr<float>(), blocks,
                                     1.f / (float)total);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
