// NVCC:
// RUN: %kernelsmith run %x
// A single-pass prefix sum with decoupled look-back: blocks take their number from a counter,
// publish their sum and then their prefix as one 64-bit word, and wait for those before them.
#include "../check.h"

constexpr int kThreads = 128;
constexpr int kItems = 4;
constexpr int kTile = kThreads * kItems;
constexpr unsigned kInvalid = 0, kAggregate = 1, kPrefix = 2;

__device__ unsigned long long Pack(unsigned flag, int value) {
  return static_cast<unsigned long long>(flag) << 32 | static_cast<unsigned>(value);
}

__global__ void Scan(const int* in, int* out, int n, unsigned* next_tile,
                     volatile unsigned long long* status) {
  __shared__ unsigned shared_tile;
  __shared__ int warp_sums[kThreads / 32];
  __shared__ int shared_prefix;
  if (threadIdx.x == 0) shared_tile = atomicAdd(next_tile, 1);
  __syncthreads();
  const int tile = shared_tile;
  const int base = tile * kTile + threadIdx.x * kItems;
  int items[kItems], sum = 0;
  for (int k = 0; k < kItems; ++k) {
    items[k] = base + k < n ? in[base + k] : 0;
    sum += items[k];
  }
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int inclusive = sum;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int other = __shfl_up_sync(~0u, inclusive, offset);
    if (lane >= offset) inclusive += other;
  }
  if (lane == 31) warp_sums[warp] = inclusive;
  __syncthreads();
  int block_sum = 0, before = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w < warp) before += warp_sums[w];
    block_sum += warp_sums[w];
  }
  if (warp == 0) {
    // Flag and value travel in one word, so no fence is needed between them.
    if (lane == 0) status[tile] = Pack(tile == 0 ? kPrefix : kAggregate, block_sum);
    int prefix = 0;
    for (int window = tile - 1; window >= 0; window -= 32) {
      const int looked = window - lane;
      unsigned long long word;
      do {
        word = looked >= 0 ? status[looked] : Pack(kPrefix, 0);
      } while (__any_sync(~0u, static_cast<unsigned>(word >> 32) == kInvalid));
      const unsigned done = __ballot_sync(~0u, static_cast<unsigned>(word >> 32) == kPrefix);
      // Only the lanes up to the nearest finished prefix count.
      const int nearest = done != 0 ? __ffs(done) - 1 : 31;
      int value = lane <= nearest ? static_cast<int>(static_cast<unsigned>(word)) : 0;
      for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
      prefix += value;
      if (done != 0) break;
    }
    if (lane == 0) {
      if (tile != 0) status[tile] = Pack(kPrefix, prefix + block_sum);
      shared_prefix = prefix;
    }
  }
  __syncthreads();
  int running = shared_prefix + before + inclusive - sum;
  for (int k = 0; k < kItems; ++k) {
    running += items[k];
    if (base + k < n) out[base + k] = running;
  }
}

int main() {
  Random random(8);
  for (int n : {1, 511, 512, 513, 20000, 60001}) {
    const std::vector<int> in = random.Ints(n, -50, 60);
    std::vector<int> want(n);
    int sum = 0;
    for (int i = 0; i < n; ++i) want[i] = sum += in[i];
    const int tiles = (n + kTile - 1) / kTile;
    DeviceArray<int> device(in), out(n);
    DeviceArray<unsigned> next(1);
    DeviceArray<unsigned long long> status(tiles);
    next.Fill(0);
    status.Fill(0);
    out.Fill(0xff);
    Scan<<<tiles, kThreads>>>(device.data(), out.data(), n, next.data(), status.data());
    LAUNCH_OK();
    ExpectEqual("look-back scan", out.Get(), want);
    std::printf("n = %d in %d tiles: total %d\n", n, tiles, sum);
  }
  return Finish();
}
