// A scaled product by einsum, the rest by a kernel.
// ARGS: a=f32[3,4,5] b=f32[3,5,6]
#include <torch/extension.h>
#include <vector>

__global__ void scale_inplace(float* p, float s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= s;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  auto c = torch::einsum("bij,bjk->bik", {a, b}).contiguous();
  int n = c.numel();
  scale_inplace<<<(n + 127) / 128, 128>>>(c.data_ptr<float>(), 0.5f, n);
  return c;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
