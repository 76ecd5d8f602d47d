// NVCC:
// RUN: %kernelsmith run %x
// Block reductions step by step: interleaved with divergence, sequential addressing, first add on
// load, and a fully unrolled template; integers exactly, floats against a double sum.
#include "../check.h"

__global__ void SumInterleaved(const int* in, long long* out, int n) {
  __shared__ int part[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    if (threadIdx.x % (2 * stride) == 0) part[threadIdx.x] += part[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__global__ void SumSequential(const int* in, long long* out, int n) {
  extern __shared__ int dynamic[];
  const int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
  int sum = i < n ? in[i] : 0;
  if (i + blockDim.x < n) sum += in[i + blockDim.x];
  dynamic[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (threadIdx.x < stride) dynamic[threadIdx.x] += dynamic[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = dynamic[0];
}

template <int kThreads>
__global__ void SumUnrolled(const float* in, float* out, int n) {
  __shared__ float part[kThreads];
  float sum = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += kThreads * gridDim.x) sum += in[i];
  part[threadIdx.x] = sum;
  __syncthreads();
#pragma unroll
  for (int stride = kThreads / 2; stride >= 32; stride /= 2) {
    if (threadIdx.x < stride) part[threadIdx.x] += part[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    volatile float* warp = part;
    for (int stride = 16; stride > 0; stride /= 2) {
      const float other = warp[threadIdx.x + stride];
      __syncwarp();
      warp[threadIdx.x] = warp[threadIdx.x] + other;
      __syncwarp();
    }
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

template <typename T>
T Total(const DeviceArray<T>& parts) {
  T sum = 0;
  for (T part : parts.Get()) sum += part;
  return sum;
}

int main() {
  const int n = 30011;
  Random random(5);
  const std::vector<int> ints = random.Ints(n, -1000, 1000);
  long long want = 0;
  for (int value : ints) want += value;
  DeviceArray<int> in(ints);

  DeviceArray<long long> parts((n + 255) / 256);
  SumInterleaved<<<(n + 255) / 256, 256>>>(in.data(), parts.data(), n);
  LAUNCH_OK();
  ExpectEqual("interleaved", Total(parts), want);

  DeviceArray<long long> half((n + 255) / 256);
  SumSequential<<<(n + 255) / 256, 128, 128 * sizeof(int)>>>(in.data(), half.data(), n);
  LAUNCH_OK();
  ExpectEqual("sequential", Total(half), want);

  const std::vector<float> floats = random.Floats(n, 0, 1);
  double exact = 0;
  for (float value : floats) exact += value;
  DeviceArray<float> fin(floats), fout(7);
  SumUnrolled<256><<<7, 256>>>(fin.data(), fout.data(), n);
  LAUNCH_OK();
  const float sum = Total(fout);
  ExpectNear("unrolled", std::vector<float>{sum}, std::vector<double>{exact}, 1e-5, 0);
  std::printf("integer sum %lld, float sum %.2f\n", want, exact);
  return Finish();
}
