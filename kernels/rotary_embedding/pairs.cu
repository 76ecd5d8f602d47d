// Forward: a thread a pair (left, right) of one token and head, turned together.
#include <torch/extension.h>

__global__ void Rotate(const float* __restrict__ x, const float* __restrict__ cosine,
                       const float* __restrict__ sine, float* __restrict__ y, int pairs, int tokens,
                       int half) {
  const int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pairs) return;
  const int d = p % half;
  const int row = p / half;
  const int token = row % tokens;
  const int width = 2 * half;
  const float left = x[row * width + d], right = x[row * width + half + d];
  const float* c = cosine + token * width;
  const float* s = sine + token * width;
  y[row * width + d] = left * c[d] - right * s[d];
  y[row * width + half + d] = right * c[half + d] + left * s[half + d];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor cosine, torch::Tensor sine) {
  auto y = torch::empty_like(x);
  const int pairs = x.numel() / 2;
  Rotate<<<(pairs + 127) / 128, 128>>>(x.data_ptr<float>(), cosine.data_ptr<float>(),
                                       sine.data_ptr<float>(), y.data_ptr<float>(), pairs,
                                       x.size(2), x.size(3) / 2);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
