// A __device__ counter that the host resets by its address.
// ARGS: x=f32[64]
#include <torch/extension.h>


__device__ int positives;

__global__ void Count(const float* x, int n) {
  if (threadIdx.x < n && x[threadIdx.x] > 0) atomicAdd(&positives, 1);
}
__global__ void Read(int* out) { *out = positives; }

torch::Tensor forward(torch::Tensor x) {
  void* address = nullptr;
  cudaGetSymbolAddress(&address, positives);
  cudaMemset(address, 0, sizeof(int));
  auto out = torch::empty({1}, x.options().dtype(torch::kInt32));
  Count<<<1, 64>>>(x.data_ptr<float>(), x.numel());
  Read<<<1, 1>>>(out.data_ptr<int>());
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
