// NVCC:
// RUN: %kernelsmith run %x
// The cuRAND device header: XORWOW, Philox and MRG32k3a generators. Sequences repeat, skipping
// ahead agrees with drawing, and moments are right; Philox is checked against its published
// definition.
#include <curand_kernel.h>

#include "../check.h"

__global__ void DrawXorwow(unsigned* out, float* uniform, float* normal, int each) {
  const int t = threadIdx.x;
  curandState state;
  curand_init(1234, t, 0, &state);
  for (int i = 0; i < each; ++i) out[t * each + i] = curand(&state);
  for (int i = 0; i < each; ++i) uniform[t * each + i] = curand_uniform(&state);
  for (int i = 0; i < each; ++i) normal[t * each + i] = curand_normal(&state);
}

__global__ void SkipXorwow(unsigned* out, int each) {
  const int t = threadIdx.x;
  curandState state;
  curand_init(1234, t, each / 2, &state);
  for (int i = 0; i < each / 2; ++i) out[t * (each / 2) + i] = curand(&state);
}

__global__ void DrawPhilox(uint4* out, unsigned long long seed) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, threadIdx.x, 0, &state);
  out[2 * threadIdx.x] = curand4(&state);
  out[2 * threadIdx.x + 1] = curand4(&state);
}

// Philox 4x32 with ten rounds, after Salmon et al., "Parallel random numbers: as easy as 1, 2, 3".
uint4 Philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long long p0 = 0xD2511F53ull * counter.x, p1 = 0xCD9E8D57ull * counter.z;
    counter =
        make_uint4(static_cast<unsigned>(p1 >> 32) ^ counter.y ^ key.x, static_cast<unsigned>(p1),
                   static_cast<unsigned>(p0 >> 32) ^ counter.w ^ key.y, static_cast<unsigned>(p0));
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

int main() {
  const int threads = 64, each = 20;
  DeviceArray<unsigned> out(threads * each), again(threads * each), skipped(threads * each / 2);
  DeviceArray<float> uniform(threads * each), normal(threads * each);
  DrawXorwow<<<1, threads>>>(out.data(), uniform.data(), normal.data(), each);
  LAUNCH_OK();
  DrawXorwow<<<1, threads>>>(again.data(), uniform.data(), normal.data(), each);
  LAUNCH_OK();
  SkipXorwow<<<1, threads>>>(skipped.data(), each);
  LAUNCH_OK();
  const auto first = out.Get();
  ExpectEqual("the sequence repeats", again.Get(), first);
  std::vector<unsigned> want;
  for (int t = 0; t < threads; ++t)
    want.insert(want.end(), &first[t * each + each / 2], &first[t * each] + each);
  ExpectEqual("skipping ahead", skipped.Get(), want);
  double mean = 0, normal_mean = 0, variance = 0;
  bool inside = true;
  for (float u : uniform.Get()) {
    mean += u / (threads * each);
    inside &= u > 0 && u <= 1;
  }
  for (float z : normal.Get()) {
    normal_mean += z / (threads * each);
    variance += static_cast<double>(z) * z / (threads * each);
  }
  Expect(inside, "uniform values are in (0, 1]");
  Expect(std::fabs(mean - 0.5) < 0.05, "mean of the uniform values");
  Expect(std::fabs(normal_mean) < 0.12 && std::fabs(variance - 1) < 0.2,
         "moments of the normal values");

  const unsigned long long seed = 0x123456789abcdefull;
  DeviceArray<uint4> philox(2 * 32);
  DrawPhilox<<<1, 32>>>(philox.data(), seed);
  LAUNCH_OK();
  const auto got = philox.Get();
  int wrong = 0;
  for (unsigned t = 0; t < 32; ++t) {
    for (unsigned draw = 0; draw < 2; ++draw) {
      // The subsequence is the upper half of the counter.
      const uint4 r =
          Philox(make_uint4(draw, 0, t, 0),
                 make_uint2(static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)));
      const uint4 g = got[2 * t + draw];
      wrong += r.x != g.x || r.y != g.y || r.z != g.z || r.w != g.w;
    }
  }
  ExpectEqual("philox vectors that differ", wrong, 0);
  std::printf("first draws %08x %08x\n", first[0], first[1]);
  return Finish();
}
