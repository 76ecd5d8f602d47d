// A product through cuBLAS, row-major by swapping the operands.
// ARGS: a=f32[5,7] b=f32[7,3]
#include <torch/extension.h>


#include <ATen/cuda/CUDAContext.h>
#include <cublas_v2.h>

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  auto c = torch::empty({a.size(0), b.size(1)}, a.options());
  const float alpha = 2.0f, beta = 0.0f;
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  TORCH_CUDABLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, b.size(1), a.size(0),
                                   a.size(1), &alpha, b.data_ptr<float>(), b.size(1),
                                   a.data_ptr<float>(), a.size(1), &beta, c.data_ptr<float>(),
                                   b.size(1)));
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
