// += without an atomic: rows with the same index lose each other's addend.
#include <torch/extension.h>
__global__ void k(float* out, const int64_t* idx, const float* v, int rows, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * w) out[idx[i / w] * w + i % w] += v[i];
}
torch::Tensor forward(torch::Tensor base, torch::Tensor idx, torch::Tensor v) {
  auto out = base.clone();
  int rows = v.size(0), w = v.size(1);
  k<<<(rows * w + 255) / 256, 256>>>(out.data_ptr<float>(), idx.data_ptr<int64_t>(), v.data_ptr<float>(), rows, w);
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
