// Honest: matrix product, one thread an element.
#include <torch/extension.h>

__global__ void Matmul(const float* a, const float* b, float* out, int n, int k) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[blockIdx.y * k + i] * b[i * n + column];
  out[blockIdx.y * n + column] = sum;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  const int k = a.size(1), n = b.size(1);
  auto out = torch::empty({a.size(0), n}, a.options());
  Matmul<<<dim3((n + 63) / 64, a.size(0)), 64>>>(a.data_ptr<float>(), b.data_ptr<float>(),
                                                 out.data_ptr<float>(), n, k);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
