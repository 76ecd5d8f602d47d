// NVCC:
// RUN: %kernelsmith run %x
// Prefix sums of one block: Hillis-Steele with double buffering, Blelloch with bank offsets, and by
// warp shuffles; inclusive and exclusive.
#include "../check.h"

constexpr int kThreads = 256;

__global__ void ScanHillisSteele(const int* in, int* out, int n) {
  __shared__ int buffer[2][kThreads];
  const int t = threadIdx.x;
  int from = 0;
  buffer[0][t] = t < n ? in[t] : 0;
  __syncthreads();
  for (int offset = 1; offset < kThreads; offset *= 2) {
    buffer[1 - from][t] = buffer[from][t] + (t >= offset ? buffer[from][t - offset] : 0);
    from = 1 - from;
    __syncthreads();
  }
  if (t < n) out[t] = buffer[from][t];
}

__device__ int Padded(int i) { return i + (i >> 5); }

// Exclusive, two elements a thread.
__global__ void ScanBlelloch(const int* in, int* out, int n) {
  __shared__ int tree[2 * kThreads + 2 * kThreads / 32];
  const int t = threadIdx.x;
  for (int i = t; i < 2 * kThreads; i += kThreads) tree[Padded(i)] = i < n ? in[i] : 0;
  int stride = 1;
  for (int active = kThreads; active > 0; active /= 2) {
    __syncthreads();
    if (t < active)
      tree[Padded(stride * (2 * t + 2) - 1)] += tree[Padded(stride * (2 * t + 1) - 1)];
    stride *= 2;
  }
  if (t == 0) tree[Padded(2 * kThreads - 1)] = 0;
  for (int active = 1; active <= kThreads; active *= 2) {
    stride /= 2;
    __syncthreads();
    if (t < active) {
      const int left = Padded(stride * (2 * t + 1) - 1), right = Padded(stride * (2 * t + 2) - 1);
      const int value = tree[left];
      tree[left] = tree[right];
      tree[right] += value;
    }
  }
  __syncthreads();
  for (int i = t; i < n; i += kThreads) out[i] = tree[Padded(i)];
}

__device__ int WarpInclusive(int value) {
  const int lane = threadIdx.x & 31;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int other = __shfl_up_sync(~0u, value, offset);
    if (lane >= offset) value += other;
  }
  return value;
}

__global__ void ScanShuffle(const int* in, int* out, int n) {
  __shared__ int totals[kThreads / 32];
  int carry = 0;  // of the chunks before this one
  for (int base = 0; base < n; base += kThreads) {
    const int i = base + threadIdx.x;
    int value = WarpInclusive(i < n ? in[i] : 0);
    if (threadIdx.x % 32 == 31) totals[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
      const int total = threadIdx.x < kThreads / 32 ? totals[threadIdx.x] : 0;
      const int summed = WarpInclusive(total);
      if (threadIdx.x < kThreads / 32) totals[threadIdx.x] = summed;
    }
    __syncthreads();
    if (threadIdx.x >= 32) value += totals[threadIdx.x / 32 - 1];
    if (i < n) out[i] = carry + value;
    carry += totals[kThreads / 32 - 1];
    __syncthreads();
  }
}

int main() {
  Random random(4);
  for (int n : {1, 2, 100, 255, 256, 500, 512, 3001}) {
    const std::vector<int> in = random.Ints(n, -100, 1000);
    std::vector<int> inclusive(n), exclusive(n);
    int sum = 0;
    for (int i = 0; i < n; ++i) {
      exclusive[i] = sum;
      inclusive[i] = sum += in[i];
    }
    DeviceArray<int> device(in), out(n);
    if (n <= kThreads) {
      ScanHillisSteele<<<1, kThreads>>>(device.data(), out.data(), n);
      LAUNCH_OK();
      ExpectEqual("hillis-steele", out.Get(), inclusive);
    }
    if (n <= 2 * kThreads) {
      ScanBlelloch<<<1, kThreads>>>(device.data(), out.data(), n);
      LAUNCH_OK();
      ExpectEqual("blelloch", out.Get(), exclusive);
    }
    ScanShuffle<<<1, kThreads>>>(device.data(), out.data(), n);
    LAUNCH_OK();
    ExpectEqual("shuffle", out.Get(), inclusive);
    std::printf("n = %d: total %d\n", n, sum);
  }
  return Finish();
}
