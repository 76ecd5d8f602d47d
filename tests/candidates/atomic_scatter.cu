// Scatter-add with atomics.
// ARGS: src=f32[30] index=i32[30]<7
#include <torch/extension.h>


__global__ void Scatter(const float* src, const int* index, float* out, int n) {
  if (threadIdx.x < n) atomicAdd(&out[index[threadIdx.x]], src[threadIdx.x]);
}

torch::Tensor forward(torch::Tensor src, torch::Tensor index) {
  auto out = src.new_zeros({7});
  Scatter<<<1, 32>>>(src.data_ptr<float>(), index.data_ptr<int>(), out.data_ptr<float>(),
                     src.numel());
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
