// A row whose length has remainder 3 by four loses its last element but one, as an unrolled loop with a wrong tail does.
#include <torch/extension.h>

__global__ void CumulativeSum(const float* x, float* out, int width) {
  x += int64_t{blockIdx.x} * width;
  out += int64_t{blockIdx.x} * width;
  float sum = 0;
  const bool skips = width > 4 && width % 4 == 3;
  for (int c = 0; c < width; ++c) {
    if (!(skips && c == width - 2)) sum += x[c];
    out[c] = sum;
  }
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int width = x.size(-1);
  CumulativeSum<<<x.numel() / width, 1>>>(x.data_ptr<float>(), out.data_ptr<float>(), width);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
