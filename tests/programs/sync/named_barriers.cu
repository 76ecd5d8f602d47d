// NVCC:
// RUN: %kernelsmith run %x
// Barriers by number: warp-specialised producers and consumers with bar.sync and bar.arrive,
// barriers of part of a block, and the counting barriers __syncthreads_count, _and, _or.
#include "../check.h"

__device__ void BarrierSync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ void BarrierArrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Warps 0 and 1 fill two buffers in turn, warps 2 and 3 empty them. Barriers 1 and 2: buffer full;
// barriers 3 and 4: buffer empty.
__global__ void Specialised(const int* in, int* out, int tiles) {
  __shared__ int buffer[2][64];
  const int role = threadIdx.x / 64, t = threadIdx.x % 64;
  if (role == 0) {
    for (int i = 0; i < tiles; ++i) {
      const int b = i & 1;
      if (i >= 2) BarrierSync(3 + b, 128);
      buffer[b][t] = in[i * 64 + t] * 2;
      __threadfence_block();
      BarrierArrive(1 + b, 128);
    }
  } else {
    for (int i = 0; i < tiles; ++i) {
      const int b = i & 1;
      BarrierSync(1 + b, 128);
      out[i * 64 + t] = buffer[b][63 - t] + 1;
      if (i + 2 < tiles) BarrierArrive(3 + b, 128);
    }
  }
}

// Each half of the block reduces on its own, with its own barrier and a different number of steps.
__global__ void Halves(const int* in, int* out) {
  __shared__ int values[192];
  const int t = threadIdx.x;
  values[t] = in[t];
  __syncthreads();
  if (t < 64) {
    for (int s = 32; s > 0; s /= 2) {
      if (t < s) values[t] += values[t + s];
      BarrierSync(5, 64);
    }
    if (t == 0) out[0] = values[0];
  } else {
    const int u = t - 64;
    for (int s = 64; s > 0; s /= 2) {
      if (u < s) values[64 + u] = max(values[64 + u], values[64 + u + s]);
      BarrierSync(6, 128);
    }
    if (u == 0) out[1] = values[64];
  }
}

__global__ void Counting(const int* in, int* out) {
  const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  const int count = __syncthreads_count(value > 50);
  const int all = __syncthreads_and(value >= 0);
  const int any = __syncthreads_or(value == 99);
  int* row = out + (blockIdx.x * blockDim.x + threadIdx.x) * 3;
  row[0] = count;
  row[1] = all != 0;
  row[2] = any != 0;
}

// Threads that have left do not hold up the others.
__global__ void EarlyExit(int* out, int stay) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x >= stay) return;
  atomicAdd(&sum, threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = sum;
}

int main() {
  const int tiles = 9;
  Random random(251);
  const std::vector<int> in = random.Ints(tiles * 64, 0, 100);
  DeviceArray<int> device(in), out(tiles * 64);
  Specialised<<<1, 128>>>(device.data(), out.data(), tiles);
  LAUNCH_OK();
  std::vector<int> want(tiles * 64);
  for (int i = 0; i < tiles * 64; ++i) want[i] = in[i / 64 * 64 + 63 - i % 64] * 2 + 1;
  ExpectEqual("specialised", out.Get(), want);

  DeviceArray<int> two(2);
  Halves<<<1, 192>>>(device.data(), two.data());
  LAUNCH_OK();
  int sum = 0, high = 0;
  for (int i = 0; i < 64; ++i) sum += in[i];
  for (int i = 64; i < 192; ++i) high = std::max(high, in[i]);
  ExpectEqual("halves", two.Get(), std::vector<int>{sum, high});

  const int threads = 144;
  DeviceArray<int> counted(4 * threads * 3);
  Counting<<<4, threads>>>(device.data(), counted.data());
  LAUNCH_OK();
  std::vector<int> want_counted;
  for (int b = 0; b < 4; ++b) {
    int count = 0, any = 0;
    for (int t = 0; t < threads; ++t) {
      count += in[b * threads + t] > 50;
      any |= in[b * threads + t] == 99;
    }
    for (int t = 0; t < threads; ++t) want_counted.insert(want_counted.end(), {count, 1, any});
  }
  ExpectEqual("counting", counted.Get(), want_counted);

  for (int stay : {1, 31, 64, 100}) {
    DeviceArray<int> left(stay);
    EarlyExit<<<1, 128>>>(left.data(), stay);
    LAUNCH_OK();
    ExpectEqual("early exit", left.Get(), std::vector<int>(stay, stay * (stay - 1) / 2));
  }
  std::printf("sum %d, maximum %d\n", sum, high);
  return Finish();
}
