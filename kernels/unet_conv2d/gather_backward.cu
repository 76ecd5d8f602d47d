// Backward: dx gathers the outputs that saw a pixel; a block a filter tap reduces dweight; a block
// a channel reduces dbias.
#include <torch/extension.h>

constexpr int kThreads = 64;

__device__ float BlockSum(float v) {
  __shared__ float scratch[kThreads];
  scratch[threadIdx.x] = v;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) scratch[threadIdx.x] += scratch[threadIdx.x + s];
    __syncthreads();
  }
  return scratch[0];
}

__global__ void GradInput(const float* __restrict__ go, const float* __restrict__ weight,
                          float* __restrict__ dx, int count, int in_channels, int out_channels,
                          int height, int width, int kernel, int stride, int padding,
                          int out_height, int out_width) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const int ix = at % width, iy = at / width % height;
  const int c = at / (width * height) % in_channels;
  const int image = at / (width * height * in_channels);
  float sum = 0;
  for (int ky = 0; ky < kernel; ++ky) {
    const int down = iy + padding - ky;
    if (down < 0 || down % stride != 0 || down / stride >= out_height) continue;
    for (int kx = 0; kx < kernel; ++kx) {
      const int right = ix + padding - kx;
      if (right < 0 || right % stride != 0 || right / stride >= out_width) continue;
      for (int o = 0; o < out_channels; ++o) {
        sum += go[((image * out_channels + o) * out_height + down / stride) * out_width +
                  right / stride] *
               weight[((o * in_channels + c) * kernel + ky) * kernel + kx];
      }
    }
  }
  dx[at] = sum;
}

__global__ void GradWeight(const float* __restrict__ go, const float* __restrict__ x,
                           float* __restrict__ dweight, int batch, int in_channels,
                           int out_channels, int height, int width, int kernel, int stride,
                           int padding, int out_height, int out_width) {
  const int tap = blockIdx.x;
  const int kx = tap % kernel, ky = tap / kernel % kernel;
  const int c = tap / (kernel * kernel) % in_channels;
  const int o = tap / (kernel * kernel * in_channels);
  const int area = out_height * out_width;
  float sum = 0;
  for (int p = threadIdx.x; p < batch * area; p += kThreads) {
    const int image = p / area;
    const int oy = p % area / out_width, ox = p % out_width;
    const int iy = oy * stride - padding + ky, ix = ox * stride - padding + kx;
    if (iy >= 0 && iy < height && ix >= 0 && ix < width) {
      sum += go[(image * out_channels + o) * area + p % area] *
             x[((image * in_channels + c) * height + iy) * width + ix];
    }
  }
  sum = BlockSum(sum);
  if (threadIdx.x == 0) dweight[tap] = sum;
}

__global__ void GradBias(const float* __restrict__ go, float* __restrict__ dbias, int batch,
                         int out_channels, int area) {
  float sum = 0;
  for (int p = threadIdx.x; p < batch * area; p += kThreads) {
    sum += go[(p / area * out_channels + blockIdx.x) * area + p % area];
  }
  sum = BlockSum(sum);
  if (threadIdx.x == 0) dbias[blockIdx.x] = sum;
}

std::vector<torch::Tensor> backward(torch::Tensor go, torch::Tensor x, torch::Tensor weight,
                                    torch::Tensor bias, int64_t stride, int64_t padding) {
  go = go.contiguous();
  const int batch = x.size(0), in_channels = x.size(1), height = x.size(2), width = x.size(3);
  const int out_channels = weight.size(0), kernel = weight.size(2);
  const int out_height = go.size(2), out_width = go.size(3);
  auto dx = torch::empty_like(x);
  auto dweight = torch::empty_like(weight);
  auto dbias = torch::empty_like(bias);
  const int count = x.numel();
  GradInput<<<(count + 127) / 128, 128>>>(
      go.data_ptr<float>(), weight.data_ptr<float>(), dx.data_ptr<float>(), count, in_channels,
      out_channels, height, width, kernel, stride, padding, out_height, out_width);
  GradWeight<<<weight.numel(), kThreads>>>(
      go.data_ptr<float>(), x.data_ptr<float>(), dweight.data_ptr<float>(), batch, in_channels,
      out_channels, height, width, kernel, stride, padding, out_height, out_width);
  GradBias<<<out_channels, kThreads>>>(go.data_ptr<float>(), dbias.data_ptr<float>(), batch,
                                       out_channels, out_height * out_width);
  return {dx, dweight, dbias};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
