// NVCC:
// RUN: %kernelsmith run %x
// A sum in one launch: each block publishes its part, fences, and takes a ticket; the block that
// takes the last ticket adds the parts and resets the counter for the next launch.
#include "../check.h"

__device__ unsigned g_tickets = 0;

__device__ float BlockSum(float value, float* scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) scratch[threadIdx.x] += scratch[threadIdx.x + stride];
    __syncthreads();
  }
  const float sum = scratch[0];
  __syncthreads();
  return sum;
}

__global__ void SumOnce(const float* in, int n, volatile float* parts, float* out) {
  __shared__ float scratch[128];
  __shared__ bool last;
  float value = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    value += in[i];
  const float sum = BlockSum(value, scratch);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&g_tickets, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  value = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) value += parts[i];
  const float total = BlockSum(value, scratch);
  if (threadIdx.x == 0) {
    *out = total;
    g_tickets = 0;
  }
}

int main() {
  const int n = 20000;
  Random random(77);
  for (int round = 0; round < 3; ++round) {
    std::vector<float> in(n);
    // Multiples of 1/16 below 16: every partial sum is exact, so every order gives the same.
    for (float& value : in) value = random.Below(256) / 16.0f;
    float want = 0;
    for (float value : in) want += value;
    const int blocks = 5 + 50 * round;
    DeviceArray<float> device(in), parts(blocks), out(1);
    SumOnce<<<blocks, 128>>>(device.data(), n, parts.data(), out.data());
    LAUNCH_OK();
    ExpectEqual("sum", out.Get()[0], want);
    unsigned tickets = 1;
    CUDA_OK(cudaMemcpyFromSymbol(&tickets, g_tickets, sizeof tickets));
    ExpectEqual("tickets", tickets, 0u);
    std::printf("%d blocks: %.4f\n", blocks, want);
  }
  return Finish();
}
