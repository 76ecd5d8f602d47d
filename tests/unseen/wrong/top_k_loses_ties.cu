// The next largest must be below the last one: of equal values only one is found.
#include <torch/extension.h>
#include <vector>
__global__ void topk(const float* x, float* v, int64_t* idx, int n, int k) {
  if (threadIdx.x != 0) return;
  x += (size_t)blockIdx.x * n;
  float last = INFINITY;
  for (int j = 0; j < k; ++j) {
    float best = -INFINITY;
    int at = 0;
    for (int i = 0; i < n; ++i)
      if (x[i] < last && x[i] > best) {
        best = x[i];
        at = i;
      }
    v[blockIdx.x * k + j] = best;
    idx[blockIdx.x * k + j] = at;
    last = best;
  }
}
std::vector<torch::Tensor> forward(torch::Tensor x, int64_t k) {
  auto v = torch::empty({x.size(0), k}, x.options());
  auto idx = torch::empty({x.size(0), k}, x.options().dtype(torch::kInt64));
  topk<<<x.size(0), 32>>>(x.data_ptr<float>(), v.data_ptr<float>(), idx.data_ptr<int64_t>(), x.size(1), k);
  return {v, idx};
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
