// Backward: the transposed rotation, a block a token of a head, go staged in shared memory.
#include <torch/extension.h>

__global__ void RotateBack(const float* __restrict__ go, const float* __restrict__ cosine,
                           const float* __restrict__ sine, float* __restrict__ dx, int tokens,
                           int width) {
  extern __shared__ float g[];
  const int row = blockIdx.x;
  const int token = row % tokens;
  for (int d = threadIdx.x; d < width; d += blockDim.x) g[d] = go[row * width + d];
  __syncthreads();
  const int half = width / 2;
  for (int d = threadIdx.x; d < width; d += blockDim.x) {
    // The other one of the pair got this one with the sine, and the left one with a minus.
    const int other = d < half ? d + half : d - half;
    const float turned = g[other] * sine[token * width + other];
    dx[row * width + d] = g[d] * cosine[token * width + d] + (d < half ? turned : -turned);
  }
}

torch::Tensor backward(torch::Tensor go, torch::Tensor x, torch::Tensor cosine,
                       torch::Tensor sine) {
  go = go.contiguous();
  auto dx = torch::empty_like(x);
  const int width = x.size(3);
  RotateBack<<<x.numel() / width, 32, width * sizeof(float)>>>(
      go.data_ptr<float>(), cosine.data_ptr<float>(), sine.data_ptr<float>(), dx.data_ptr<float>(),
      x.size(2), width);
  return dx;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
