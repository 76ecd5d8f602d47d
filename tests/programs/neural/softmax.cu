// NVCC:
// RUN: %kernelsmith run %x
// Row softmax three ways: three passes through shared memory, one warp a row with values in
// registers, and online (running maximum and sum merged by shuffles); also log-softmax.
#include <cfloat>

#include "../check.h"

__global__ void SoftmaxThreePass(const float* in, float* out, int cols) {
  __shared__ float scratch[128];
  const float* row = in + blockIdx.x * cols;
  float high = -FLT_MAX;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) high = fmaxf(high, row[i]);
  scratch[threadIdx.x] = high;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s)
      scratch[threadIdx.x] = fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + s]);
    __syncthreads();
  }
  high = scratch[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - high);
  scratch[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) scratch[threadIdx.x] += scratch[threadIdx.x + s];
    __syncthreads();
  }
  const float scale = 1.0f / scratch[0];
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    out[blockIdx.x * cols + i] = expf(row[i] - high) * scale;
}

template <int kPerLane>
__global__ void SoftmaxWarp(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float values[kPerLane], high = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int col = i * 32 + lane;
    values[i] = col < cols ? in[row * cols + col] : -INFINITY;
    high = fmaxf(high, values[i]);
  }
  for (int o = 16; o > 0; o /= 2) high = fmaxf(high, __shfl_xor_sync(~0u, high, o));
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    values[i] = __expf(values[i] - high);
    sum += values[i];
  }
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int col = i * 32 + lane;
    if (col < cols) out[row * cols + col] = __fdividef(values[i], sum);
  }
}

template <bool kLog>
__global__ void SoftmaxOnline(const float* in, float* out, int cols) {
  const float* row = in + blockIdx.x * cols;
  float high = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float x = row[i], next = fmaxf(high, x);
    sum = sum * exp2f((high - next) * 1.44269504f) + exp2f((x - next) * 1.44269504f);
    high = next;
  }
  for (int o = 16; o > 0; o /= 2) {
    const float other_high = __shfl_xor_sync(~0u, high, o),
                other_sum = __shfl_xor_sync(~0u, sum, o);
    const float next = fmaxf(high, other_high);
    // A lane without elements has high = -inf; exp2(-inf - -inf) would be NaN.
    const float mine = high == -INFINITY ? 0.0f : sum * expf(high - next);
    const float theirs = other_high == -INFINITY ? 0.0f : other_sum * expf(other_high - next);
    sum = mine + theirs;
    high = next;
  }
  const float log_sum = logf(sum);
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float shifted = row[i] - high;
    out[blockIdx.x * cols + i] = kLog ? shifted - log_sum : expf(shifted) / sum;
  }
}

int main() {
  Random random(51);
  for (int cols : {1, 20, 100, 512}) {
    const int rows = 9;
    std::vector<float> in = random.Floats(rows * cols, -20, 20);
    for (int i = 0; i < cols; ++i) in[i] = 1000.0f;  // a row that overflows without the shift
    std::vector<double> want(in.size()), want_log(in.size());
    for (int r = 0; r < rows; ++r) {
      double high = -1e300, sum = 0;
      for (int i = 0; i < cols; ++i) high = std::max<double>(high, in[r * cols + i]);
      for (int i = 0; i < cols; ++i) sum += std::exp(in[r * cols + i] - high);
      for (int i = 0; i < cols; ++i) {
        want[r * cols + i] = std::exp(in[r * cols + i] - high) / sum;
        want_log[r * cols + i] = in[r * cols + i] - high - std::log(sum);
      }
    }
    DeviceArray<float> device(in), out(in.size());
    SoftmaxThreePass<<<rows, 128>>>(device.data(), out.data(), cols);
    LAUNCH_OK();
    ExpectNear("three passes", out.Get(), want, 1e-5, 1e-9);
    SoftmaxWarp<16><<<(rows + 3) / 4, 128>>>(device.data(), out.data(), rows, cols);
    LAUNCH_OK();
    ExpectNear("warp", out.Get(), want, 2e-5, 1e-9);
    SoftmaxOnline<false><<<rows, 32>>>(device.data(), out.data(), cols);
    LAUNCH_OK();
    ExpectNear("online", out.Get(), want, 2e-5, 1e-9);
    SoftmaxOnline<true><<<rows, 32>>>(device.data(), out.data(), cols);
    LAUNCH_OK();
    ExpectNear("log softmax", out.Get(), want_log, 1e-5, 1e-5);
    std::printf("cols = %d: softmax[0] = %.6f\n", cols, want[0]);
  }
  return Finish();
}
