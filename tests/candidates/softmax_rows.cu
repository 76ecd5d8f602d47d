// Softmax over the rows of a matrix: one block a row, shuffles inside a warp, shared memory between.
// ARGS: x=f32[33,300]
#include <c10/cuda/CUDAException.h>
#include <torch/extension.h>

namespace {

constexpr int kThreads = 128;

template <typename Combine>
__device__ float BlockReduce(float value, float* scratch, Combine combine) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) scratch[warp] = value;
  __syncthreads();
  value = scratch[0];
  for (int i = 1; i < kThreads / 32; ++i) value = combine(value, scratch[i]);
  __syncthreads();
  return value;
}

__global__ void SoftmaxRows(const float* __restrict__ x, float* __restrict__ out, int columns) {
  __shared__ float scratch[kThreads / 32];
  const float* row = x + static_cast<int64_t>(blockIdx.x) * columns;
  float* out_row = out + static_cast<int64_t>(blockIdx.x) * columns;

  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += kThreads) largest = fmaxf(largest, row[i]);
  largest = BlockReduce(largest, scratch, [](float a, float b) { return fmaxf(a, b); });

  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += kThreads) sum += expf(row[i] - largest);
  sum = BlockReduce(sum, scratch, [](float a, float b) { return a + b; });

  for (int i = threadIdx.x; i < columns; i += kThreads) out_row[i] = expf(row[i] - largest) / sum;
}

}  // namespace

torch::Tensor forward(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda(), "x must be on the GPU");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  auto out = torch::empty_like(x);
  const int64_t columns = x.size(-1);
  const int64_t rows = x.numel() / columns;
  SoftmaxRows<<<rows, kThreads>>>(x.data_ptr<float>(), out.data_ptr<float>(), columns);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "softmax over rows"); }
