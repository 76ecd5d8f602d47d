// Forward: online softmax. One pass keeps the running maximum and the rescaled sum; warps merge
// theirs in shared memory.
#include <torch/extension.h>

#include <cfloat>

struct Running {
  float max;
  float sum;
};

__device__ __forceinline__ Running Merge(Running a, Running b) {
  const bool a_larger = a.max > b.max;
  const Running larger = a_larger ? a : b;
  const Running smaller = a_larger ? b : a;
  return {larger.max, larger.sum + smaller.sum * expf(smaller.max - larger.max)};
}

__device__ __forceinline__ Running WarpMerge(Running r) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const Running other = {__shfl_down_sync(0xffffffff, r.max, offset),
                           __shfl_down_sync(0xffffffff, r.sum, offset)};
    r = Merge(r, other);
  }
  return r;
}

template <int kThreads>
__global__ void OnlineSoftmax(const float* __restrict__ x, float* __restrict__ y, int columns) {
  constexpr int kWarps = kThreads / 32;
  __shared__ Running partial[kWarps];
  __shared__ Running total;
  const float* in = x + (int64_t)blockIdx.x * columns;
  float* out = y + (int64_t)blockIdx.x * columns;

  Running mine = {-FLT_MAX, 0.0f};
  for (int i = threadIdx.x; i < columns; i += kThreads) mine = Merge(mine, {in[i], 1.0f});

  mine = WarpMerge(mine);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) partial[warp] = mine;
  __syncthreads();
  if (warp == 0) {
    mine = lane < kWarps ? partial[lane] : Running{-FLT_MAX, 0.0f};
    mine = WarpMerge(mine);
    if (lane == 0) total = mine;
  }
  __syncthreads();

  const Running t = total;
  for (int i = threadIdx.x; i < columns; i += kThreads) out[i] = expf(in[i] - t.max) / t.sum;
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int columns = x.size(-1);
  const int rows = x.numel() / columns;
  OnlineSoftmax<128><<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), columns);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
