// Backward, float32, float16, bfloat16: go * (cdf + x * pdf), one thread an element, any dtype.
#include <torch/extension.h>

template <typename scalar_t>
__global__ void GeluBackward(const scalar_t* __restrict__ go, const scalar_t* __restrict__ x,
                             scalar_t* __restrict__ dx, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < count) {
    const float v = static_cast<float>(x[i]);
    const float cdf = 0.5f * (1.0f + erff(v * float(M_SQRT1_2)));
    const float pdf = expf(-0.5f * v * v) * float(M_2_SQRTPI * M_SQRT1_2 * 0.5);
    dx[i] = static_cast<scalar_t>(static_cast<float>(go[i]) * (cdf + v * pdf));
  }
}

torch::Tensor backward(torch::Tensor go, torch::Tensor x) {
  go = go.contiguous();
  auto dx = torch::empty_like(x);
  const int64_t count = x.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "gelu_backward", [&] {
    GeluBackward<scalar_t><<<(count + 255) / 256, 256>>>(
        go.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), dx.data_ptr<scalar_t>(), count);
  });
  return dx;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
