// A channels-last intermediate.
// ARGS: x=f32[2,3,4,5]
#include <torch/extension.h>


__global__ void Copy(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] + 1;
}

torch::Tensor forward(torch::Tensor x) {
  auto nhwc = x.contiguous(torch::MemoryFormat::ChannelsLast);
  auto y = torch::empty_like(nhwc);
  Copy<<<1, 64>>>(nhwc.data_ptr<float>(), y.data_ptr<float>(), y.numel());
  return y.contiguous();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
