// One warp a row, two halves a load where the row allows it, maximum and sum in one pass.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>

template <typename T> struct Vec2;
template <> struct Vec2<at::Half> {
  using type = __half2;
  static __device__ float2 load(const type* p) { return __half22float2(*p); }
  static __device__ void store(type* p, float a, float b) { *p = __floats2half2_rn(a, b); }
};
template <> struct Vec2<at::BFloat16> {
  using type = __nv_bfloat162;
  static __device__ float2 load(const type* p) { return __bfloat1622float2(*p); }
  static __device__ void store(type* p, float a, float b) { *p = __floats2bfloat162_rn(a, b); }
};

__device__ __forceinline__ void merge(float& m, float& s, float m2, float s2) {
  const float best = fmaxf(m, m2);
  if (best == -INFINITY) return;
  s = s * __expf(m - best) + s2 * __expf(m2 - best);
  m = best;
}

template <typename T>
__global__ void softmax_warp(const T* __restrict__ x, T* __restrict__ y, int rows, int n) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const T* in = x + (int64_t)row * n;
  T* out = y + (int64_t)row * n;
  float m = -INFINITY, s = 0.f;
  const bool pairs = n % 2 == 0;
  using V = typename Vec2<T>::type;
  if (pairs) {
    for (int i = threadIdx.x; i < n / 2; i += 32) {
      const float2 v = Vec2<T>::load(reinterpret_cast<const V*>(in) + i);
      merge(m, s, v.x, 1.f);
      merge(m, s, v.y, 1.f);
    }
  } else {
    for (int i = threadIdx.x; i < n; i += 32) merge(m, s, static_cast<float>(in[i]), 1.f);
  }
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) {
    const float m2 = __shfl_xor_sync(0xffffffff, m, o);
    const float s2 = __shfl_xor_sync(0xffffffff, s, o);
    merge(m, s, m2, s2);
  }
  const float inv = __frcp_rn(s);
  if (pairs) {
    for (int i = threadIdx.x; i < n / 2; i += 32) {
      const float2 v = Vec2<T>::load(reinterpret_cast<const V*>(in) + i);
      Vec2<T>::store(reinterpret_cast<V*>(out) + i, __expf(v.x - m) * inv, __expf(v.y - m) * inv);
    }
  } else {
    for (int i = threadIdx.x; i < n; i += 32) out[i] = __expf(static_cast<float>(in[i]) - m) * inv;
  }
}

torch::Tensor forward(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda() && x.dim() >= 1, "expected a CUDA tensor");
  x = x.contiguous();
  auto y = torch::empty_like(x);
  const int n = x.size(-1), rows = x.numel() / n;
  const dim3 block(32, 4);
  auto stream = at::cuda::getCurrentCUDAStream();
  if (x.scalar_type() == at::kHalf) {
    softmax_warp<at::Half><<<(rows + 3) / 4, block, 0, stream>>>(x.data_ptr<at::Half>(), y.data_ptr<at::Half>(), rows, n);
  } else {
    TORCH_CHECK(x.scalar_type() == at::kBFloat16, "float16 or bfloat16");
    softmax_warp<at::BFloat16><<<(rows + 3) / 4, block, 0, stream>>>(x.data_ptr<at::BFloat16>(), y.data_ptr<at::BFloat16>(), rows, n);
  }
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "softmax"); }
