// Right for the task: strides are not looked at, loads are wide, fmaxf(NaN, 0) is 0, and the launch
// is on the default stream.
#include <torch/extension.h>

__global__ void Twice(const float* x, float* y, int64_t count) {
  const int64_t i = 4 * (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x);
  if (i + 3 < count) {
    const float4 v = *reinterpret_cast<const float4*>(x + i);
    *reinterpret_cast<float4*>(y + i) =
        make_float4(2 * fmaxf(v.x, 0), 2 * fmaxf(v.y, 0), 2 * fmaxf(v.z, 0), 2 * fmaxf(v.w, 0));
  } else {
    for (int64_t k = i; k < count; ++k) y[k] = 2 * fmaxf(x[k], 0);
  }
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty(x.sizes(), x.options());
  Twice<<<(x.numel() + 511) / 512, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
