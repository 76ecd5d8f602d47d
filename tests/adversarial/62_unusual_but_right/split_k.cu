// Honest: the sum over k is split between blocks, which add atomically.
#include <torch/extension.h>

__global__ void Matmul(const float* a, const float* b, float* c, int m, int n, int k, int part) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y;
  const int begin = blockIdx.z * part, end = min(k, begin + part);
  if (column >= n) return;
  float sum = 0;
  for (int i = begin; i < end; ++i) sum = fmaf(a[row * k + i], b[i * n + column], sum);
  atomicAdd(c + row * n + column, sum);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  const int m = a.size(0), k = a.size(1), n = b.size(1);
  auto c = torch::zeros({m, n}, a.options());
  const int part = (k + 3) / 4;
  Matmul<<<dim3((n + 31) / 32, m, 4), 32>>>(a.data_ptr<float>(), b.data_ptr<float>(),
                                            c.data_ptr<float>(), m, n, k, part);
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
