// A workspace that is made once and never cleared again: every call adds to the sums of the last.
#include <torch/extension.h>
__global__ void add(const float* p, const float* t, float* sum, int n) {
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += (p[i] - t[i]) * (p[i] - t[i]);
  for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, s);
}
__global__ void finish(const float* sum, float* out, int n) { *out = *sum / n; }
torch::Tensor forward(torch::Tensor p, torch::Tensor t) {
  static torch::Tensor sum = torch::zeros({1}, p.options());
  auto out = torch::empty({}, p.options());
  int n = p.numel();
  add<<<32, 256>>>(p.data_ptr<float>(), t.data_ptr<float>(), sum.data_ptr<float>(), n);
  finish<<<1, 1>>>(sum.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
