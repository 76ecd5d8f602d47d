// NVCC:
// RUN: %kernelsmith run %x
// Matrix transposition: naive, through shared memory, with padding against bank conflicts, and in
// dynamic shared memory with a swizzle. Edges are not multiples of the tile.
#include "../check.h"

constexpr int kTile = 32;
constexpr int kRows = 8;

__global__ void TransposeNaive(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * kTile + threadIdx.x;
  for (int j = threadIdx.y; j < kTile; j += kRows) {
    const int y = blockIdx.y * kTile + j;
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
  }
}

template <int kPad>
__global__ void TransposeShared(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTile][kTile + kPad];
  int x = blockIdx.x * kTile + threadIdx.x;
  for (int j = threadIdx.y; j < kTile; j += kRows) {
    const int y = blockIdx.y * kTile + j;
    if (x < width && y < height) tile[j][threadIdx.x] = in[y * width + x];
  }
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  for (int j = threadIdx.y; j < kTile; j += kRows) {
    const int y = blockIdx.x * kTile + j;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][j];
  }
}

__global__ void TransposeSwizzled(const float* in, float* out, int width, int height) {
  extern __shared__ float tile[];
  int x = blockIdx.x * kTile + threadIdx.x;
  for (int j = threadIdx.y; j < kTile; j += kRows) {
    const int y = blockIdx.y * kTile + j;
    if (x < width && y < height) tile[j * kTile + (threadIdx.x ^ j)] = in[y * width + x];
  }
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  for (int j = threadIdx.y; j < kTile; j += kRows) {
    const int y = blockIdx.x * kTile + j;
    if (x < height && y < width)
      out[y * height + x] = tile[threadIdx.x * kTile + (j ^ threadIdx.x)];
  }
}

int main() {
  const int shapes[][2] = {{32, 32}, {64, 96}, {100, 37}, {1, 129}, {257, 65}};
  Random random(3);
  for (const auto& shape : shapes) {
    const int width = shape[0], height = shape[1];
    const std::vector<float> in = random.Floats(width * height, 0, 1);
    std::vector<float> want(in.size());
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) want[x * height + y] = in[y * width + x];
    }
    DeviceArray<float> source(in), target(in.size());
    const dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
    const dim3 block(kTile, kRows);
    auto check = [&](const char* name) {
      LAUNCH_OK();
      ExpectEqual(name, target.Get(), want);
      target.Fill(0xff);
    };
    TransposeNaive<<<grid, block>>>(source.data(), target.data(), width, height);
    check("naive");
    TransposeShared<0><<<grid, block>>>(source.data(), target.data(), width, height);
    check("shared");
    TransposeShared<1><<<grid, block>>>(source.data(), target.data(), width, height);
    check("padded");
    TransposeSwizzled<<<grid, block, kTile * kTile * sizeof(float)>>>(source.data(), target.data(),
                                                                      width, height);
    check("swizzled");
    std::printf("%d x %d: out[1] = %g\n", width, height, want[1]);
  }
  return Finish();
}
