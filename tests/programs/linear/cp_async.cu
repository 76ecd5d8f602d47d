// NVCC:
// RUN: %kernelsmith run %x
// A three-stage pipeline of asynchronous copies (cp.async by the pipeline primitives and by inline
// PTX with zero fill) that feeds a tiled product.
#include <cuda_pipeline.h>

#include "../check.h"

constexpr int kTile = 32, kDepth = 16, kStages = 3, kThreads = 128;

__global__ void Multiply(const float* a, const float* b, float* c, int n, int k) {
  extern __shared__ __align__(16) float shared[];
  float* sa = shared;                             // kStages x kTile x kDepth
  float* sb = shared + kStages * kTile * kDepth;  // kStages x kDepth x kTile
  const int t = threadIdx.x;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  auto fetch = [&](int slice) {
    const int stage = slice % kStages, base = slice * kDepth;
    // 128 threads copy 32 rows of 16 floats, four floats each, and 16 rows of 32.
    __pipeline_memcpy_async(&sa[(stage * kTile + t / 4) * kDepth + t % 4 * 4],
                            &a[(row0 + t / 4) * k + base + t % 4 * 4], 16);
    __pipeline_memcpy_async(&sb[(stage * kDepth + t / 8) * kTile + t % 8 * 4],
                            &b[(base + t / 8) * n + col0 + t % 8 * 4], 16);
  };
  const int slices = k / kDepth;
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < slices) fetch(s);
    __pipeline_commit();
  }
  float sums[8] = {};
  const int x = t % 32, y = t / 32 * 8;
  for (int s = 0; s < slices; ++s) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    if (s + kStages - 1 < slices) fetch(s + kStages - 1);
    __pipeline_commit();
    const float* pa = sa + s % kStages * kTile * kDepth;
    const float* pb = sb + s % kStages * kDepth * kTile;
    for (int i = 0; i < kDepth; ++i) {
      for (int r = 0; r < 8; ++r) sums[r] += pa[(y + r) * kDepth + i] * pb[i * kTile + x];
    }
  }
  for (int r = 0; r < 8; ++r) c[(row0 + y + r) * n + col0 + x] = sums[r];
}

// Copies n floats through shared memory; the tail of each 16-byte piece is filled with zeros.
__global__ void CopyZeroFill(const float* in, float* out, int n) {
  __shared__ __align__(16) float buffer[4 * 64];
  const int i = (blockIdx.x * 64 + threadIdx.x) * 4;
  const unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(&buffer[threadIdx.x * 4]));
  const int left = n - i;
  const int bytes = left >= 4 ? 16 : left > 0 ? left * 4 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target),
               "l"(in + (bytes > 0 ? i : 0)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int k = threadIdx.x; k < 256; k += 64) out[blockIdx.x * 256 + k] = buffer[k];
}

int main() {
  Random random(41);
  const int m = 64, n = 96, k = 112;
  const std::vector<float> a = random.Floats(m * k, -1, 1), b = random.Floats(k * n, -1, 1);
  std::vector<double> want(m * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l)
        want[i * n + j] += static_cast<double>(a[i * k + l]) * b[l * n + j];
    }
  }
  DeviceArray<float> da(a), db(b), dc(m * n);
  const size_t bytes = 2 * kStages * kTile * kDepth * sizeof(float);
  Multiply<<<dim3(n / kTile, m / kTile), kThreads, bytes>>>(da.data(), db.data(), dc.data(), n, k);
  LAUNCH_OK();
  ExpectNear("product", dc.Get(), want, 0, 2e-5);

  const int length = 1001, padded = 1024;
  std::vector<float> in = random.Floats(length, 1, 2), filled = in;
  filled.resize(padded, 0.0f);
  DeviceArray<float> din(in), dout(padded);
  CopyZeroFill<<<padded / 256, 64>>>(din.data(), dout.data(), length);
  LAUNCH_OK();
  ExpectEqual("zero fill", dout.Get(), filled);
  std::printf("c[0] = %.6f, tail %g %g\n", want[0], filled[length - 1], filled[length]);
  return Finish();
}
