// The occupancy is asked for without the 64 KiB of shared memory that the launch then has, so that
// three blocks fit on a multiprocessor where eight are launched.
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
  extern __shared__ float kept[];  // what a thread needs behind the barrier
  const int64_t first = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first, k = threadIdx.x; i < n; i += step, k += blockDim.x) {
    if (k < 16384) kept[k] = y[n - 1 - i];
    twice[i] = 2 * x[i];
  }
  GridBarrier(arrived);
  for (int64_t i = first, k = threadIdx.x; i < n; i += step, k += blockDim.x) {
    out[n - 1 - i] = twice[n - 1 - i] + (k < 16384 ? kept[k] : y[n - 1 - i]);
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  constexpr int kShared = 16384 * sizeof(float);
  auto twice = torch::empty_like(x);
  auto out = torch::empty_like(x);
  auto arrived = torch::zeros({1}, x.options().dtype(torch::kInt32));
  const int64_t n = x.numel();
  int processors = 0, blocks = 0;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, Axpy, 256, 0);
  cudaFuncSetAttribute(Axpy, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  Axpy<<<std::min<int64_t>(processors * blocks, (n + 255) / 256), 256, kShared>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), twice.data_ptr<float>(), out.data_ptr<float>(), n,
      reinterpret_cast<unsigned*>(arrived.data_ptr<int>()));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
