// A barrier over all blocks by an atomic counter, with a block for every 64 elements: those that
// the GPU has no room for never arrive.
#include <torch/extension.h>

// Every block waits for all others.
__device__ void GridBarrier(unsigned* arrived) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
}

__global__ void Axpy(const float* x, const float* y, float* twice, float* out, int64_t n,
                     unsigned* arrived) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) twice[i] = 2 * x[i];
  GridBarrier(arrived);
  if (i < n) out[n - 1 - i] = twice[n - 1 - i] + y[n - 1 - i];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto twice = torch::empty_like(x);
  auto out = torch::empty_like(x);
  auto arrived = torch::zeros({1}, x.options().dtype(torch::kInt32));
  const int64_t n = x.numel();
  Axpy<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), twice.data_ptr<float>(),
                              out.data_ptr<float>(), n,
                              reinterpret_cast<unsigned*>(arrived.data_ptr<int>()));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
