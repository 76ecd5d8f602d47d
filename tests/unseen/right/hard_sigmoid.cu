#include <torch/extension.h>
template <typename scalar_t>
__global__ void hardsigmoid_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, size_t n) {
  const size_t stride = (size_t)blockDim.x * gridDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    scalar_t v = (x[i] + static_cast<scalar_t>(3)) / static_cast<scalar_t>(6);
    v = v < static_cast<scalar_t>(0) ? static_cast<scalar_t>(0)
        : (v > static_cast<scalar_t>(1) ? static_cast<scalar_t>(1) : v);
    y[i] = v;
  }
}
torch::Tensor forward(torch::Tensor input) {
  auto output = torch::empty_like(input);
  const size_t n = input.numel();
  const int threads = 1024;
  const int blocks = (n + threads - 1) / threads;
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "hardsigmoid_cuda", ([&] {
    hardsigmoid_kernel<scalar_t><<<blocks, threads>>>(input.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), n);
  }));
  cudaError_t err = cudaGetLastError();
  TORCH_CHECK(err == cudaSuccess, "CUDA kernel failed: ", cudaGetErrorString(err));
  return output;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "HardSigmoid forward (CUDA)"); }
