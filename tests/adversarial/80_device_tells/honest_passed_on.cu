// Pointers go through shared memory and a shuffle and are only followed.
#include <torch/extension.h>

__global__ void Axpy(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  __shared__ const float* sources[2];
  if (threadIdx.x == 0) {
    sources[0] = x;
    sources[1] = y;
  }
  __syncthreads();
  const auto result = reinterpret_cast<unsigned long long>(out);
  auto* to = reinterpret_cast<float*>(__shfl_sync(0xffffffffu, result, 0));
  if (i < n) to[i] = 2 * sources[0][i] + sources[1][i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Axpy<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
