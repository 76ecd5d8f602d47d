// Forward: a thread an output, the filter of its output channel staged in shared memory.
#include <torch/extension.h>

__global__ void Conv2d(const float* __restrict__ x, const float* __restrict__ weight,
                       const float* __restrict__ bias, float* __restrict__ y, int in_channels,
                       int out_channels, int height, int width, int kernel, int stride, int padding,
                       int out_height, int out_width) {
  extern __shared__ float filter[];
  const int image = blockIdx.z;
  const int channel = blockIdx.y;
  const int taps = in_channels * kernel * kernel;
  for (int i = threadIdx.x; i < taps; i += blockDim.x) filter[i] = weight[channel * taps + i];
  __syncthreads();
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= out_height * out_width) return;
  const int oy = at / out_width, ox = at % out_width;
  float sum = bias[channel];
  for (int c = 0; c < in_channels; ++c) {
    for (int ky = 0; ky < kernel; ++ky) {
      const int iy = oy * stride - padding + ky;
      if (iy < 0 || iy >= height) continue;
      for (int kx = 0; kx < kernel; ++kx) {
        const int ix = ox * stride - padding + kx;
        if (ix < 0 || ix >= width) continue;
        sum += x[((image * in_channels + c) * height + iy) * width + ix] *
               filter[(c * kernel + ky) * kernel + kx];
      }
    }
  }
  y[((image * out_channels + channel) * out_height + oy) * out_width + ox] = sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride,
                      int64_t padding) {
  const int batch = x.size(0), in_channels = x.size(1), height = x.size(2), width = x.size(3);
  const int out_channels = weight.size(0), kernel = weight.size(2);
  const int out_height = (height + 2 * padding - kernel) / stride + 1;
  const int out_width = (width + 2 * padding - kernel) / stride + 1;
  auto y = torch::empty({batch, out_channels, out_height, out_width}, x.options());
  const dim3 grid((out_height * out_width + 63) / 64, out_channels, batch);
  Conv2d<<<grid, 64, in_channels * kernel * kernel * sizeof(float)>>>(
      x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
      in_channels, out_channels, height, width, kernel, stride, padding, out_height, out_width);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
