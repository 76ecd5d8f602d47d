// The two products by cuBLAS itself, the bias by a kernel.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cublas_v2.h>
__global__ void column_sum(const float* go, float* gb, int rows, int n) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n) return;
  float s = 0.f;
  for (int r = 0; r < rows; ++r) s += go[r * n + c];
  gb[c] = s;
}
std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> backward(torch::Tensor go, torch::Tensor x, torch::Tensor w) {
  const int B = x.size(0), I = x.size(1), O = w.size(0);
  auto gx = torch::empty_like(x), gw = torch::empty_like(w);
  auto gb = torch::empty({O}, x.options());
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  const float one = 1.f, zero = 0.f;
  // Row-major gx = go w is column-major gx^T = w^T go^T.
  TORCH_CUDABLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, I, B, O, &one, w.data_ptr<float>(), I, go.data_ptr<float>(), O, &zero, gx.data_ptr<float>(), I));
  // gw = go^T x is column-major gw^T = x^T go.
  TORCH_CUDABLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, I, O, B, &one, x.data_ptr<float>(), I, go.data_ptr<float>(), O, &zero, gw.data_ptr<float>(), I));
  column_sum<<<(O + 127) / 128, 128>>>(go.data_ptr<float>(), gb.data_ptr<float>(), B, O);
  return {gx, gw, gb};
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
