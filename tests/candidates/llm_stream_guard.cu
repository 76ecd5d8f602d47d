// Current stream, device guard, launch check, TORCH_CHECK with a message in parts.
// ARGS: x=f32[17,64] gamma=f32[64] eps=1e-6
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

template <int BLOCK>
__global__ void __launch_bounds__(BLOCK) rmsnorm_kernel(const float* __restrict__ x, const float* __restrict__ gamma,
                                                        float* __restrict__ y, int cols, float eps) {
  __shared__ float partial[BLOCK / 32];
  const int row = blockIdx.x;
  float acc = 0.f;
  for (int c = threadIdx.x; c < cols; c += BLOCK) {
    const float v = __ldg(x + row * cols + c);
    acc += v * v;
  }
#pragma unroll
  for (int o = 16; o; o >>= 1) acc += __shfl_down_sync(0xffffffff, acc, o);
  if ((threadIdx.x & 31) == 0) partial[threadIdx.x >> 5] = acc;
  __syncthreads();
  if (threadIdx.x == 0) {
    float s = 0.f;
    for (int i = 0; i < BLOCK / 32; ++i) s += partial[i];
    partial[0] = rsqrtf(s / cols + eps);
  }
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += BLOCK) y[row * cols + c] = x[row * cols + c] * partial[0] * gamma[c];
}

at::Tensor forward(const at::Tensor& x, const at::Tensor& gamma, double eps) {
  CHECK_INPUT(x);
  CHECK_INPUT(gamma);
  TORCH_CHECK(x.dim() == 2, "expected 2 dimensions, got ", x.dim());
  TORCH_CHECK(x.scalar_type() == at::kFloat, "expected float32, got ", x.scalar_type());
  TORCH_CHECK(gamma.size(0) == x.size(-1), "sizes differ: ", gamma.sizes(), " and ", x.sizes());
  const at::cuda::OptionalCUDAGuard guard(at::device_of(x));
  cudaStream_t stream = at::cuda::getCurrentCUDAStream().stream();
  auto y = at::empty_like(x);
  rmsnorm_kernel<128><<<static_cast<unsigned int>(x.size(0)), 128, 0, stream>>>(
      x.const_data_ptr<float>(), gamma.const_data_ptr<float>(), y.mutable_data_ptr<float>(),
      static_cast<int>(x.size(1)), static_cast<float>(eps));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  AT_CUDA_CHECK(cudaGetLastError());
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "rmsnorm", py::arg("x"), py::arg("gamma"), py::arg("eps") = 1e-6);
}
