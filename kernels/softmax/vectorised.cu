// Forward: one block a row that is staged in shared memory by 16-byte loads; scalar loads where the
// row's length is no multiple of 4.
#include <torch/extension.h>

constexpr int kThreads = 256;

template <typename Combine>
__device__ float BlockReduce(float v, float identity, float* scratch, Combine combine) {
  for (int offset = 16; offset; offset >>= 1) v = combine(v, __shfl_xor_sync(~0u, v, offset));
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x % 32 < kThreads / 32 ? scratch[threadIdx.x % 32] : identity;
  for (int offset = 16; offset; offset >>= 1) v = combine(v, __shfl_xor_sync(~0u, v, offset));
  __syncthreads();  // scratch is used again
  return v;
}

__global__ void __launch_bounds__(kThreads)
    SoftmaxStaged(const float* __restrict__ x, float* __restrict__ y, int columns, bool fits) {
  extern __shared__ float4 shared[];
  __shared__ float scratch[kThreads / 32];
  const float* in = x + (size_t)blockIdx.x * columns;
  float* out = y + (size_t)blockIdx.x * columns;
  // Rows that don't fit into shared memory are staged in the output.
  float* staged = fits ? reinterpret_cast<float*>(shared) : out;
  float4* staged4 = reinterpret_cast<float4*>(staged);
  const bool wide = columns % 4 == 0;  // then every row begins at a multiple of 16 bytes

  float largest = -INFINITY;
  if (wide) {
    for (int i = threadIdx.x; i < columns / 4; i += kThreads) {
      const float4 v = reinterpret_cast<const float4*>(in)[i];
      staged4[i] = v;
      largest = fmaxf(largest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
  } else {
    for (int i = threadIdx.x; i < columns; i += kThreads) {
      staged[i] = in[i];
      largest = fmaxf(largest, staged[i]);
    }
  }
  largest = BlockReduce(largest, -INFINITY, scratch, [](float a, float b) { return fmaxf(a, b); });

  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += kThreads) {
    const float e = exp2f((staged[i] - largest) * 1.4426950408889634f);
    staged[i] = e;
    sum += e;
  }
  sum = BlockReduce(sum, 0.0f, scratch, [](float a, float b) { return a + b; });

  const float scale = __frcp_rn(sum);
  if (wide) {
    for (int i = threadIdx.x; i < columns / 4; i += kThreads) {
      float4 v = staged4[i];
      v.x *= scale;
      v.y *= scale;
      v.z *= scale;
      v.w *= scale;
      reinterpret_cast<float4*>(out)[i] = v;
    }
  } else {
    for (int i = threadIdx.x; i < columns; i += kThreads) out[i] = staged[i] * scale;
  }
}

torch::Tensor forward(torch::Tensor x) {
  x = x.contiguous();
  auto y = torch::empty_like(x);
  const int columns = x.size(-1);
  const int rows = x.numel() / columns;
  const bool fits = columns <= 48 * 1024;
  const size_t bytes = fits ? (columns + 3) / 4 * sizeof(float4) : 0;
  if (bytes > 48 * 1024) {
    cudaFuncSetAttribute(SoftmaxStaged, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  }
  SoftmaxStaged<<<rows, kThreads, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), columns, fits);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
