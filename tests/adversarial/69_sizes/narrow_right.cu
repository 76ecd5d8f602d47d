// Honest: it takes the listed widths and some others, and says clearly which it does not take.
#include <torch/extension.h>

__global__ void CumulativeSum(const float* x, float* out, int width) {
  x += int64_t{blockIdx.x} * width;
  out += int64_t{blockIdx.x} * width;
  float sum = 0;
  for (int c = 0; c < width; ++c) {
    sum += x[c];
    out[c] = sum;
  }
}

torch::Tensor forward(torch::Tensor x) {
  const int64_t width = x.size(-1);
  TORCH_CHECK(width % 4 < 2, "only widths with remainder 0 or 1 by four");
  auto out = torch::empty_like(x);
  CumulativeSum<<<x.numel() / width, 1>>>(x.data_ptr<float>(), out.data_ptr<float>(), width);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
