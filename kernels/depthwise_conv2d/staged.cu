// Forward: one block a channel of an image; a tile of the input with its border is staged in shared
// memory.
#include <torch/extension.h>

constexpr int kTile = 8;  // rows and columns of the output that a block makes

__global__ void Depthwise(const float* __restrict__ x, const float* __restrict__ weight,
                          const float* __restrict__ bias, float* __restrict__ y, int channels,
                          int height, int width, int kernel, int stride, int padding,
                          int out_height, int out_width, int tiles_across) {
  extern __shared__ float staged[];
  const int plane = blockIdx.y;  // image * channels + channel
  const int channel = plane % channels;
  const int oy0 = blockIdx.x / tiles_across * kTile, ox0 = blockIdx.x % tiles_across * kTile;
  const int side = (kTile - 1) * stride + kernel;
  const float* in = x + (size_t)plane * height * width;
  for (int i = threadIdx.x; i < side * side; i += blockDim.x) {
    const int iy = oy0 * stride - padding + i / side;
    const int ix = ox0 * stride - padding + i % side;
    staged[i] = iy >= 0 && iy < height && ix >= 0 && ix < width ? in[iy * width + ix] : 0.0f;
  }
  __syncthreads();
  const int ty = threadIdx.x / kTile, tx = threadIdx.x % kTile;
  if (oy0 + ty >= out_height || ox0 + tx >= out_width) return;
  float sum = 0;
  for (int ky = 0; ky < kernel; ++ky) {
    for (int kx = 0; kx < kernel; ++kx) {
      sum += staged[(ty * stride + ky) * side + tx * stride + kx] *
             __ldg(&weight[(channel * kernel + ky) * kernel + kx]);
    }
  }
  y[((size_t)plane * out_height + oy0 + ty) * out_width + ox0 + tx] = sum + bias[channel];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride,
                      int64_t padding) {
  const int batch = x.size(0), channels = x.size(1), height = x.size(2), width = x.size(3),
            kernel = weight.size(2);
  const int out_height = (height + 2 * padding - kernel) / stride + 1;
  const int out_width = (width + 2 * padding - kernel) / stride + 1;
  auto y = torch::empty({batch, channels, out_height, out_width}, x.options());
  const int across = (out_width + kTile - 1) / kTile, down = (out_height + kTile - 1) / kTile;
  const int side = (kTile - 1) * stride + kernel;
  Depthwise<<<dim3(across * down, batch * channels), kTile * kTile, side * side * sizeof(float)>>>(
      x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
      channels, height, width, kernel, stride, padding, out_height, out_width, across);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
