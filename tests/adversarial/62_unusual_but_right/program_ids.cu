// Honest: written as Triton compiles it: one program a tile, offsets and masks.
#include <torch/extension.h>

template <int BLOCK>
__global__ void Kernel(const float* x_ptr, const float* y_ptr, float* out_ptr, int n_elements) {
  const int pid = blockIdx.x;
  float x[BLOCK / 128], y[BLOCK / 128];
#pragma unroll
  for (int k = 0; k < BLOCK / 128; ++k) {
    const int offset = pid * BLOCK + k * 128 + threadIdx.x;
    const bool mask = offset < n_elements;
    x[k] = mask ? x_ptr[offset] : 0.0f;
    y[k] = mask ? y_ptr[offset] : 0.0f;
  }
#pragma unroll
  for (int k = 0; k < BLOCK / 128; ++k) {
    const int offset = pid * BLOCK + k * 128 + threadIdx.x;
    if (offset < n_elements) out_ptr[offset] = fmaf(2.0f, x[k], y[k]);
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  const int n = x.numel();
  Kernel<1024><<<(n + 1023) / 1024, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                           out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
