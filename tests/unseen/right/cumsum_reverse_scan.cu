// Each block scans a row from its end, tile by tile, with warp shuffles and a carry.
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__device__ __forceinline__ float warp_inclusive_scan(float v) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int offset = 1; offset < 32; offset <<= 1) {
    const float other = __shfl_up_sync(0xffffffffu, v, offset);
    if (lane >= offset) v += other;
  }
  return v;
}

__global__ void reverse_cumsum(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float warp_sums[kWarps];
  __shared__ float carry;
  const float* row = x + (int64_t)blockIdx.x * n;
  float* out = y + (int64_t)blockIdx.x * n;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (threadIdx.x == 0) carry = 0.f;
  __syncthreads();
  for (int base = 0; base < n; base += kThreads) {
    const int k = base + threadIdx.x;
    float v = k < n ? row[n - 1 - k] : 0.f;
    v = warp_inclusive_scan(v);
    if (lane == 31) warp_sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
      float s = lane < kWarps ? warp_sums[lane] : 0.f;
      s = warp_inclusive_scan(s);
      if (lane < kWarps) warp_sums[lane] = s;
    }
    __syncthreads();
    v += (warp > 0 ? warp_sums[warp - 1] : 0.f) + carry;
    if (k < n) out[n - 1 - k] = v;
    __syncthreads();
    if (threadIdx.x == kThreads - 1) carry = v;
    __syncthreads();
  }
}

torch::Tensor forward(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2);
  auto in = x.contiguous();
  auto out = torch::empty_like(in);
  reverse_cumsum<<<in.size(0), kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      in.data_ptr<float>(), out.data_ptr<float>(), (int)in.size(1));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
