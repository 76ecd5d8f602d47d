// einsum against products written out; a difference throws, which would be a finding.
// ARGS: a=f32[3,4,5] b=f32[3,5,6] m=f32[4,5] n=f32[6,5]
#include <torch/extension.h>

static void same(const torch::Tensor& x, const torch::Tensor& y, const char* what) {
  TORCH_CHECK(x.sizes() == y.sizes(), what, ": ", x.sizes(), " against ", y.sizes());
  TORCH_CHECK((x - y).abs().max().item<float>() < 1e-5f, what, " differs");
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b, torch::Tensor m, torch::Tensor n) {
  same(torch::einsum("bij,bjk->bik", {a, b}), torch::bmm(a, b), "batched product");
  same(torch::einsum("ij, kj -> ik", {m, n}), torch::matmul(m, n.t()), "product with a transposed");
  same(torch::einsum("ij,kj", {m, n}), torch::matmul(m, n.t()), "without an arrow");
  same(torch::einsum("bij->jib", {a}), a.permute({2, 1, 0}), "permutation");
  same(torch::einsum("bij->i", {a}), a.sum({0, 2}), "sum");
  same(torch::einsum("ij,ij->", {m, m}), (m * m).sum(), "inner product");
  same(torch::einsum("bij,ij->bij", {a, m}), a * m, "elementwise");
  same(torch::einsum("bij,bjk,kl->bil", {a, b, n}), torch::matmul(torch::bmm(a, b), n), "three");
  same(torch::einsum("bij,kj->kbi", {a, n}), torch::matmul(a, n.t()).permute({2, 0, 1}), "moved");
  return torch::einsum("bij,bjk->kbi", {a, b}).contiguous();
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
