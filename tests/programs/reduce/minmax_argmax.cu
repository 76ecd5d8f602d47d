// NVCC:
// RUN: %kernelsmith run %x
// Reductions with structs: minimum, maximum and the first index of the maximum; a mean and
// variance by Welford's merge; NaNs are skipped.
#include <cfloat>

#include "../check.h"

struct Extremes {
  float low, high;
  int where;  // index of the first maximum
};

struct Moments {
  int count;
  double mean, m2;
};

__host__ __device__ Extremes Merge(const Extremes& a, const Extremes& b) {
  Extremes r;
  r.low = fminf(a.low, b.low);
  r.high = fmaxf(a.high, b.high);
  if (a.high == b.high) {
    r.where = a.where < b.where ? a.where : b.where;
  } else {
    r.where = a.high > b.high ? a.where : b.where;
  }
  return r;
}

__device__ Moments Merge(const Moments& a, const Moments& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  Moments r;
  r.count = a.count + b.count;
  const double delta = b.mean - a.mean;
  r.mean = a.mean + delta * b.count / r.count;
  r.m2 = a.m2 + b.m2 + delta * delta * a.count * b.count / r.count;
  return r;
}

template <typename T>
__device__ T Shuffle(T value, int offset) {
  T other;
  static_assert(sizeof(T) % 4 == 0, "moved word by word");
  const int* from = reinterpret_cast<const int*>(&value);
  int* to = reinterpret_cast<int*>(&other);
  for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i)
    to[i] = __shfl_xor_sync(~0u, from[i], offset);
  return other;
}

template <typename T>
__device__ T BlockMerge(T value) {
  __shared__ T warps[8];
  for (int offset = 1; offset < 32; offset *= 2) value = Merge(value, Shuffle(value, offset));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) value = Merge(value, warps[w]);
  }
  return value;
}

__global__ void Reduce(const float* in, int n, Extremes* extremes, Moments* moments) {
  Extremes e{FLT_MAX, -FLT_MAX, 0x7fffffff};
  Moments m{0, 0, 0};
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float x = in[blockIdx.x * n + i];
    if (isnan(x)) continue;
    e = Merge(e, Extremes{x, x, i});
    m = Merge(m, Moments{1, x, 0});
  }
  e = BlockMerge(e);
  m = BlockMerge(m);
  if (threadIdx.x == 0) {
    extremes[blockIdx.x] = e;
    moments[blockIdx.x] = m;
  }
}

int main() {
  const int rows = 6, n = 1500;
  Random random(99);
  std::vector<float> in(rows * n);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = std::floor(random.Float(-500, 500)) / 8;  // coarse, so that maxima repeat
    if (i % 97 == 5) in[i] = NAN;
  }
  DeviceArray<float> device(in);
  DeviceArray<Extremes> extremes(rows);
  DeviceArray<Moments> moments(rows);
  Reduce<<<rows, 256>>>(device.data(), n, extremes.data(), moments.data());
  LAUNCH_OK();
  const auto e = extremes.Get();
  const auto m = moments.Get();
  for (int row = 0; row < rows; ++row) {
    float low = FLT_MAX, high = -FLT_MAX;
    int where = -1, count = 0;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      const float x = in[row * n + i];
      if (std::isnan(x)) continue;
      low = std::min(low, x);
      if (x > high) {
        high = x;
        where = i;
      }
      ++count;
      sum += x;
    }
    for (int i = 0; i < n; ++i) {
      const float x = in[row * n + i];
      if (!std::isnan(x)) squares += (x - sum / count) * (x - sum / count);
    }
    ExpectEqual("low", e[row].low, low);
    ExpectEqual("high", e[row].high, high);
    ExpectEqual("where", e[row].where, where);
    ExpectEqual("count", m[row].count, count);
    ExpectNear("mean and m2", std::vector<double>{m[row].mean, m[row].m2},
               std::vector<double>{sum / count, squares}, 1e-10, 1e-10);
    std::printf("row %d: [%g, %g], first maximum at %d, variance %.3f\n", row, low, high, where,
                squares / count);
  }
  return Finish();
}
