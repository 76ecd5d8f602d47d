// CUDA half types over the tensors of at::Half.
// ARGS: x=f16[128]
#include <cuda_fp16.h>
#include <torch/extension.h>

__global__ void Double(const __half* x, __half* y, int n) {
  const int i = threadIdx.x;
  if (2 * i + 1 < n) {
    const __half2 pair = reinterpret_cast<const __half2*>(x)[i];
    reinterpret_cast<__half2*>(y)[i] = __hadd2(pair, pair);
  }
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  Double<<<1, 64>>>(reinterpret_cast<const __half*>(x.data_ptr<at::Half>()),
                    reinterpret_cast<__half*>(y.data_ptr<at::Half>()), x.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
