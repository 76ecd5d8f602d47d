// NVCC:
// RUN: %kernelsmith run %x
// Histograms by global atomics, by shared atomics with a merge, by one private copy a warp, and by
// byte counters packed into words.
#include "../check.h"

constexpr int kBins = 256;

__global__ void HistogramGlobal(const unsigned char* data, int n, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[data[i]], 1u);
  }
}

__global__ void HistogramShared(const unsigned char* data, int n, unsigned* bins) {
  __shared__ unsigned local[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[data[i]], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) {
    if (local[b] != 0) atomicAdd(&bins[b], local[b]);
  }
}

__global__ void HistogramPerWarp(const uchar4* data, int n4, unsigned* bins) {
  extern __shared__ unsigned copies[];
  unsigned* mine = copies + (threadIdx.x / 32) * kBins;
  for (int b = threadIdx.x; b < kBins * (blockDim.x / 32); b += blockDim.x) copies[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    const uchar4 four = data[i];
    atomicAdd(&mine[four.x], 1u);
    atomicAdd(&mine[four.y], 1u);
    atomicAdd(&mine[four.z], 1u);
    atomicAdd(&mine[four.w], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) {
    unsigned sum = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += copies[w * kBins + b];
    atomicAdd(&bins[b], sum);
  }
}

// 64 bins of the upper six bits. Each thread owns a column of byte counters, which cannot overflow
// because a thread sees fewer than 256 values.
__global__ void Histogram64Packed(const unsigned char* data, int n, unsigned* bins) {
  __shared__ unsigned char counts[64][64];
  for (int b = 0; b < 64; ++b) counts[b][threadIdx.x] = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
    ++counts[data[i] >> 2][threadIdx.x];
  }
  __syncthreads();
  const unsigned* words = reinterpret_cast<const unsigned*>(counts[threadIdx.x]);
  unsigned sum = 0;
  for (int w = 0; w < 16; ++w) {
    const unsigned word = words[(w + threadIdx.x) & 15];
    sum += (word & 0xff) + (word >> 8 & 0xff) + (word >> 16 & 0xff) + (word >> 24);
  }
  atomicAdd(&bins[threadIdx.x], sum);
}

int main() {
  const int n = 40000;
  Random random(11);
  std::vector<unsigned char> data(n);
  // A product of two draws piles up at small values, so that atomics collide.
  for (auto& value : data)
    value = static_cast<unsigned char>(random.Below(256) * random.Below(256) >> 8);
  std::vector<unsigned> want(kBins, 0), want64(64, 0);
  for (unsigned char value : data) {
    ++want[value];
    ++want64[value >> 2];
  }
  DeviceArray<unsigned char> input(data);
  DeviceArray<unsigned> bins(kBins), bins64(64);

  bins.Fill(0);
  HistogramGlobal<<<8, 128>>>(input.data(), n, bins.data());
  LAUNCH_OK();
  ExpectEqual("global", bins.Get(), want);

  bins.Fill(0);
  HistogramShared<<<8, 192>>>(input.data(), n, bins.data());
  LAUNCH_OK();
  ExpectEqual("shared", bins.Get(), want);

  bins.Fill(0);
  HistogramPerWarp<<<4, 128, 4 * kBins * sizeof(unsigned)>>>(
      reinterpret_cast<const uchar4*>(input.data()), n / 4, bins.data());
  LAUNCH_OK();
  ExpectEqual("per warp", bins.Get(), want);

  bins64.Fill(0);
  Histogram64Packed<<<10, 64>>>(input.data(), n, bins64.data());
  LAUNCH_OK();
  ExpectEqual("packed bytes", bins64.Get(), want64);

  std::printf("bin 0 holds %u of %d, bin 255 %u\n", want[0], n, want[255]);
  return Finish();
}
