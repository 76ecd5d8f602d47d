// Forward: the convolution as a product of the filters with patches that are gathered tile by tile,
// never stored.
#include <torch/extension.h>

constexpr int kTile = 16;

struct Shape {
  int batch, in_channels, height, width, out_channels, kernel, stride, padding, out_height,
      out_width;
};

// One element of the patch matrix: row `tap` (channel, ky, kx), column `pixel` (image, oy, ox).
__device__ float Patch(const float* __restrict__ x, const Shape& s, int tap, int pixel) {
  const int area = s.out_height * s.out_width;
  if (tap >= s.in_channels * s.kernel * s.kernel || pixel >= s.batch * area) return 0.0f;
  const int kx = tap % s.kernel;
  const int ky = tap / s.kernel % s.kernel;
  const int c = tap / (s.kernel * s.kernel);
  const int image = pixel / area;
  const int iy = pixel % area / s.out_width * s.stride + ky - s.padding;
  const int ix = pixel % s.out_width * s.stride + kx - s.padding;
  if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) return 0.0f;
  return x[((image * s.in_channels + c) * s.height + iy) * s.width + ix];
}

__global__ void ImplicitGemm(const float* __restrict__ x, const float* __restrict__ weight,
                             const float* __restrict__ bias, float* __restrict__ y, Shape s) {
  __shared__ float filters[kTile][kTile + 1];
  __shared__ float patches[kTile][kTile + 1];
  const int taps = s.in_channels * s.kernel * s.kernel;
  const int channel = blockIdx.y * kTile + threadIdx.y;
  const int pixel = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int t0 = 0; t0 < taps; t0 += kTile) {
    const int t = t0 + threadIdx.x;
    filters[threadIdx.y][threadIdx.x] =
        channel < s.out_channels && t < taps ? weight[channel * taps + t] : 0.0f;
    patches[threadIdx.y][threadIdx.x] = Patch(x, s, t0 + threadIdx.y, pixel);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += filters[threadIdx.y][i] * patches[i][threadIdx.x];
    __syncthreads();
  }
  const int area = s.out_height * s.out_width;
  if (channel >= s.out_channels || pixel >= s.batch * area) return;
  y[(pixel / area * s.out_channels + channel) * area + pixel % area] = sum + bias[channel];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride,
                      int64_t padding) {
  Shape s;
  s.batch = x.size(0);
  s.in_channels = x.size(1);
  s.height = x.size(2);
  s.width = x.size(3);
  s.out_channels = weight.size(0);
  s.kernel = weight.size(2);
  s.stride = stride;
  s.padding = padding;
  s.out_height = (s.height + 2 * s.padding - s.kernel) / s.stride + 1;
  s.out_width = (s.width + 2 * s.padding - s.kernel) / s.stride + 1;
  auto y = torch::empty({s.batch, s.out_channels, s.out_height, s.out_width}, x.options());
  const int pixels = s.batch * s.out_height * s.out_width;
  const dim3 grid((pixels + kTile - 1) / kTile, (s.out_channels + kTile - 1) / kTile);
  ImplicitGemm<<<grid, dim3(kTile, kTile)>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                             bias.data_ptr<float>(), y.data_ptr<float>(), s);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
