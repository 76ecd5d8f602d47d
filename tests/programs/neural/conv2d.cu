// NVCC:
// RUN: %kernelsmith run %x
// 2D convolution: direct (stride, padding, dilation, groups), implicit matrix product in tiles, and
// with the weights in constant memory.
#include "../check.h"

struct Shape {
  int batch, in_channels, height, width, out_channels, kernel, stride, padding, dilation, groups;
  __host__ __device__ int OutHeight() const {
    return (height + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
  __host__ __device__ int OutWidth() const {
    return (width + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
};

// The sum of one output element; the host uses it with double as the reference.
template <typename Acc>
__host__ __device__ Acc ConvolveAt(const Shape& s, const float* x, const float* w, int b, int o,
                                   int oy, int ox) {
  const int group_in = s.in_channels / s.groups, group = o / (s.out_channels / s.groups);
  Acc sum = 0;
  for (int c = 0; c < group_in; ++c) {
    for (int ky = 0; ky < s.kernel; ++ky) {
      for (int kx = 0; kx < s.kernel; ++kx) {
        const int y = oy * s.stride - s.padding + ky * s.dilation,
                  xx = ox * s.stride - s.padding + kx * s.dilation;
        if (y < 0 || y >= s.height || xx < 0 || xx >= s.width) continue;
        sum += static_cast<Acc>(
                   x[((b * s.in_channels + group * group_in + c) * s.height + y) * s.width + xx]) *
               static_cast<Acc>(w[((o * group_in + c) * s.kernel + ky) * s.kernel + kx]);
      }
    }
  }
  return sum;
}

__global__ void Direct(Shape s, const float* x, const float* w, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, ow = s.OutWidth(), oh = s.OutHeight();
  if (i >= s.batch * s.out_channels * oh * ow) return;
  out[i] = ConvolveAt<float>(s, x, w, i / (ow * oh * s.out_channels),
                             i / (ow * oh) % s.out_channels, i / ow % oh, i % ow);
}

// rows: output channels; columns: pixels of all images; depth: channel and kernel position.
constexpr int kTile = 16;
__global__ void ImplicitProduct(Shape s, const float* x, const float* w, float* out) {
  __shared__ float tile_w[kTile][kTile + 1], tile_x[kTile][kTile];
  const int oh = s.OutHeight(), ow = s.OutWidth(), pixels = s.batch * oh * ow;
  const int depth = s.in_channels * s.kernel * s.kernel;
  const int o = blockIdx.y * kTile + threadIdx.y, pixel = blockIdx.x * kTile + threadIdx.x;
  const int b = pixel / (oh * ow), oy = pixel / ow % oh, ox = pixel % ow;
  float sum = 0;
  for (int base = 0; base < depth; base += kTile) {
    const int wk = base + threadIdx.x, xk = base + threadIdx.y;
    tile_w[threadIdx.y][threadIdx.x] = o < s.out_channels && wk < depth ? w[o * depth + wk] : 0.0f;
    float value = 0;
    if (pixel < pixels && xk < depth) {
      const int c = xk / (s.kernel * s.kernel), ky = xk / s.kernel % s.kernel, kx = xk % s.kernel;
      const int y = oy * s.stride - s.padding + ky * s.dilation,
                xx = ox * s.stride - s.padding + kx * s.dilation;
      if (y >= 0 && y < s.height && xx >= 0 && xx < s.width) {
        value = x[((b * s.in_channels + c) * s.height + y) * s.width + xx];
      }
    }
    tile_x[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_w[threadIdx.y][i] * tile_x[i][threadIdx.x];
    __syncthreads();
  }
  if (o < s.out_channels && pixel < pixels)
    out[((b * s.out_channels + o) * oh + oy) * ow + ox] = sum;
}

__constant__ float g_weights[1024];

__global__ void DirectConstant(Shape s, const float* x, float* out) {
  const int ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y * blockDim.y + threadIdx.y;
  const int b = blockIdx.z / s.out_channels, o = blockIdx.z % s.out_channels;
  if (ox >= s.OutWidth() || oy >= s.OutHeight()) return;
  out[(blockIdx.z * s.OutHeight() + oy) * s.OutWidth() + ox] =
      ConvolveAt<float>(s, x, g_weights, b, o, oy, ox);
}

int main() {
  const Shape shapes[] = {{2, 3, 12, 10, 5, 3, 1, 1, 1, 1},
                          {1, 4, 15, 15, 6, 3, 2, 0, 1, 2},
                          {1, 6, 9, 14, 6, 5, 1, 2, 1, 6},
                          {2, 2, 16, 11, 3, 3, 1, 2, 2, 1}};
  Random random(81);
  for (const Shape& s : shapes) {
    const int oh = s.OutHeight(), ow = s.OutWidth(), count = s.batch * s.out_channels * oh * ow;
    const std::vector<float> x = random.Floats(s.batch * s.in_channels * s.height * s.width, -1, 1);
    const std::vector<float> w =
        random.Floats(s.out_channels * s.in_channels / s.groups * s.kernel * s.kernel, -1, 1);
    std::vector<double> want(count);
    for (int i = 0; i < count; ++i) {
      want[i] = ConvolveAt<double>(s, x.data(), w.data(), i / (ow * oh * s.out_channels),
                                   i / (ow * oh) % s.out_channels, i / ow % oh, i % ow);
    }
    DeviceArray<float> dx(x), dw(w), out(count);
    Direct<<<(count + 127) / 128, 128>>>(s, dx.data(), dw.data(), out.data());
    LAUNCH_OK();
    ExpectNear("direct", out.Get(), want, 0, 1e-5);
    if (s.groups == 1) {
      out.Fill(0xff);
      const dim3 grid((s.batch * oh * ow + kTile - 1) / kTile,
                      (s.out_channels + kTile - 1) / kTile);
      ImplicitProduct<<<grid, dim3(kTile, kTile)>>>(s, dx.data(), dw.data(), out.data());
      LAUNCH_OK();
      ExpectNear("implicit product", out.Get(), want, 0, 1e-5);
    }
    out.Fill(0xff);
    CUDA_OK(cudaMemcpyToSymbol(g_weights, w.data(), w.size() * sizeof(float)));
    DirectConstant<<<dim3((ow + 7) / 8, (oh + 3) / 4, s.batch * s.out_channels), dim3(8, 4)>>>(
        s, dx.data(), out.data());
    LAUNCH_OK();
    ExpectNear("constant weights", out.Get(), want, 0, 1e-5);
    std::printf("%d channels to %d, %dx%d to %dx%d: out[0] = %.6f\n", s.in_channels, s.out_channels,
                s.height, s.width, oh, ow, want[0]);
  }
  return Finish();
}
