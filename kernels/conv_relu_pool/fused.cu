// Forward: a thread a pooled output makes the four convolutions under its window and keeps the
// largest; nothing between is stored.
#include <torch/extension.h>

__global__ void ConvReluPool(const float* __restrict__ x, const float* __restrict__ weight,
                             const float* __restrict__ bias, float* __restrict__ y, int count,
                             int in_channels, int out_channels, int size, int kernel, int pooled) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const int px = at % pooled, py = at / pooled % pooled;
  const int o = at / (pooled * pooled) % out_channels;
  const int image = at / (pooled * pooled * out_channels);
  float best = 0;  // ReLU: nothing below zero can win
#pragma unroll
  for (int corner = 0; corner < 4; ++corner) {
    const int oy = 2 * py + corner / 2, ox = 2 * px + corner % 2;
    float sum = bias[o];
    for (int c = 0; c < in_channels; ++c) {
      const float* in = x + ((size_t)image * in_channels + c) * size * size;
      const float* w = weight + ((size_t)o * in_channels + c) * kernel * kernel;
      for (int ky = 0; ky < kernel; ++ky) {
        for (int kx = 0; kx < kernel; ++kx)
          sum += in[(oy + ky) * size + ox + kx] * w[ky * kernel + kx];
      }
    }
    best = fmaxf(best, sum);
  }
  y[at] = best;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  const int batch = x.size(0), in_channels = x.size(1), size = x.size(2);
  const int out_channels = weight.size(0), kernel = weight.size(2);
  const int pooled = (size - kernel + 1) / 2;
  auto y = torch::empty({batch, out_channels, pooled, pooled}, x.options());
  const int count = y.numel();
  ConvReluPool<<<(count + 63) / 64, 64>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                          bias.data_ptr<float>(), y.data_ptr<float>(), count,
                                          in_channels, out_channels, size, kernel, pooled);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
