// cudaMemset, cudaMemcpyAsync and a 2D copy.
// ARGS: x=f32[4,8]
#include <torch/extension.h>


torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty({4, 12}, x.options());
  cudaMemset(y.data_ptr(), 0, y.nbytes());
  cudaMemcpy2DAsync(y.data_ptr<float>() + 2, 12 * sizeof(float), x.data_ptr<float>(),
                    8 * sizeof(float), 8 * sizeof(float), 4, cudaMemcpyDeviceToDevice, 0);
  auto z = torch::empty_like(y);
  cudaMemcpyAsync(z.data_ptr(), y.data_ptr(), y.nbytes(), cudaMemcpyDeviceToDevice);
  return z;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
