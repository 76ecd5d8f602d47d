// NVCC:
// RUN: %kernelsmith run %x
// Warp shuffles: down, up, xor, indexed, with widths below 32, on int, float, double and 64-bit
// values; and a block reduction made of them.
#include "../check.h"

template <typename T>
__device__ T WarpSum(T value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  return value;
}

template <typename T>
__global__ void BlockSum(const T* in, T* out, int n) {
  __shared__ T warps[32];
  T sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += in[i];
  sum = WarpSum(sum);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (lane == 0) warps[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < blockDim.x / 32 ? warps[lane] : T(0);
    sum = WarpSum(sum);
    if (lane == 0) out[blockIdx.x] = sum;
  }
}

// One row of 32 results for each kind of shuffle.
__global__ void AllKinds(int* out) {
  const int lane = threadIdx.x;
  const int value = lane * 10 + 1;
  int row = 0;
  out[row++ * 32 + lane] = __shfl_sync(~0u, value, 5);
  out[row++ * 32 + lane] = __shfl_sync(~0u, value, (lane * 7 + 3) & 31);
  out[row++ * 32 + lane] = __shfl_sync(~0u, value, lane + 40);  // modulo the width
  out[row++ * 32 + lane] = __shfl_sync(~0u, value, 2, 8);
  out[row++ * 32 + lane] = __shfl_up_sync(~0u, value, 3);
  out[row++ * 32 + lane] = __shfl_up_sync(~0u, value, 3, 16);
  out[row++ * 32 + lane] = __shfl_down_sync(~0u, value, 5);
  out[row++ * 32 + lane] = __shfl_down_sync(~0u, value, 1, 4);
  out[row++ * 32 + lane] = __shfl_xor_sync(~0u, value, 31);
  out[row++ * 32 + lane] = __shfl_xor_sync(~0u, value, 9, 16);
  int odd = -1;
  if (lane & 1) odd = __shfl_sync(0xaaaaaaaau, value, (lane + 2) & 31);
  out[row++ * 32 + lane] = odd;
}

int Source(int kind, int lane) {
  switch (kind) {
    case 0:
      return 5;
    case 1:
      return (lane * 7 + 3) & 31;
    case 2:
      return (lane + 40) & 31;
    case 3:
      return (lane & ~7) + 2;
    case 4:
      return lane >= 3 ? lane - 3 : lane;
    case 5:
      return (lane & 15) >= 3 ? lane - 3 : lane;
    case 6:
      return lane + 5 < 32 ? lane + 5 : lane;
    case 7:
      return (lane & 3) + 1 < 4 ? lane + 1 : lane;
    case 8:
      return lane ^ 31;
    case 9:
      return lane ^ 9;
    default:
      return (lane + 2) & 31;
  }
}

template <typename T>
void CheckSum(const char* name, int n, double tolerance) {
  Random random(21);
  std::vector<T> data(n);
  double want = 0;
  for (T& value : data) {
    value = static_cast<T>(random.Float(0, 1000));
    want += static_cast<double>(value);
  }
  DeviceArray<T> in(data), out(5);
  BlockSum<<<5, 160>>>(in.data(), out.data(), n);
  LAUNCH_OK();
  double got = 0;
  for (T part : out.Get()) got += static_cast<double>(part);
  ExpectNear(name, std::vector<double>{got}, std::vector<double>{want}, tolerance, 0);
  std::printf("%s: %.3f\n", name, want);
}

int main() {
  CheckSum<int>("int", 9999, 0);
  CheckSum<unsigned long long>("unsigned long long", 9999, 0);
  CheckSum<float>("float", 9999, 1e-6);
  CheckSum<double>("double", 9999, 1e-14);

  const int kinds = 11;
  DeviceArray<int> out(kinds * 32);
  AllKinds<<<1, 32>>>(out.data());
  LAUNCH_OK();
  std::vector<int> want(kinds * 32);
  for (int kind = 0; kind < kinds; ++kind) {
    for (int lane = 0; lane < 32; ++lane) {
      const bool inactive = kind == 10 && (lane & 1) == 0;
      want[kind * 32 + lane] = inactive ? -1 : Source(kind, lane) * 10 + 1;
    }
  }
  ExpectEqual("shuffles", out.Get(), want);
  return Finish();
}
