// NVCC:
// RUN: %kernelsmith run %x
// Fast Fourier transforms: radix 2 in shared memory, Stockham radix 4 between two buffers, real
// convolution through the transform, and the inverse; against the defining sum.
#include <complex>

#include "../check.h"

__device__ float2 Mul(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__device__ float2 Add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 Sub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

// One block transforms n = 2 * blockDim.x values in place.
__global__ void FftRadix2(float2* data, int log_n, float sign) {
  extern __shared__ float2 values[];
  const int n = 1 << log_n;
  float2* mine = data + blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) values[__brev(i) >> (32 - log_n)] = mine[i];
  __syncthreads();
  for (int half = 1; half < n; half *= 2) {
    for (int t = threadIdx.x; t < n / 2; t += blockDim.x) {
      const int k = t & (half - 1), low = 2 * t - k;
      float s, c;
      sincospif(sign * k / half, &s, &c);
      const float2 odd = Mul(make_float2(c, s), values[low + half]), even = values[low];
      values[low] = Add(even, odd);
      values[low + half] = Sub(even, odd);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine[i] = values[i];
}

__global__ void FftStockham4(const float2* in, float2* out, int n, int length) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n / 4) return;
  const int k = t % length;
  float2 v[4];
  for (int r = 0; r < 4; ++r) {
    float s, c;
    sincospif(-2.0f * r * k / (4 * length), &s, &c);
    v[r] = Mul(make_float2(c, s), in[t + r * n / 4]);
  }
  const float2 a = Add(v[0], v[2]), b = Sub(v[0], v[2]), c = Add(v[1], v[3]);
  const float2 d = Sub(v[1], v[3]), turned = make_float2(d.y, -d.x);  // times -i
  float2* target = out + (t / length) * 4 * length + k;
  target[0] = Add(a, c);
  target[length] = Add(b, turned);
  target[2 * length] = Sub(a, c);
  target[3 * length] = Sub(b, turned);
}

__global__ void Product(float2* a, const float2* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = Mul(a[i], b[i]);
}

std::vector<float> Flat(const std::vector<float2>& values) {
  std::vector<float> flat;
  for (const float2& v : values) flat.insert(flat.end(), {v.x, v.y});
  return flat;
}

int main() {
  const int log_n = 8, n = 1 << log_n;
  const double pi = std::acos(-1.0);
  Random random(231);
  std::vector<float2> x(n);
  for (float2& v : x) v = make_float2(random.Float(-1, 1), random.Float(-1, 1));
  std::vector<double> want(2 * n);
  for (int k = 0; k < n; ++k) {
    std::complex<double> sum = 0;
    for (int j = 0; j < n; ++j) {
      sum += std::complex<double>(x[j].x, x[j].y) * std::polar(1.0, -2 * pi * (j * k % n) / n);
    }
    want[2 * k] = sum.real();
    want[2 * k + 1] = sum.imag();
  }
  DeviceArray<float2> a(x), b(n);
  FftRadix2<<<1, n / 2, n * sizeof(float2)>>>(a.data(), log_n, -1);
  LAUNCH_OK();
  ExpectNear("radix 2", Flat(a.Get()), want, 0, 1e-4);
  FftRadix2<<<1, 32, n * sizeof(float2)>>>(a.data(), log_n, 1);
  LAUNCH_OK();
  std::vector<float> back = Flat(a.Get()), start = Flat(x);
  for (float& value : back) value /= n;
  ExpectNear("inverse", back, start, 0, 1e-6);

  a.Set(x);
  float2 *from = a.data(), *to = b.data();
  for (int length = 1; length < n; length *= 4) {
    FftStockham4<<<n / 4 / 32, 32>>>(from, to, n, length);
    std::swap(from, to);
  }
  LAUNCH_OK();
  ExpectNear("stockham", Flat(a.Get()), want, 0, 1e-4);

  // Two signals of n/2 values, padded with zeros, so that the circular convolution does not wrap.
  std::vector<float2> p(n), q(n);
  for (int i = 0; i < n / 2; ++i) {
    p[i].x = random.Float(-1, 1);
    q[i].x = random.Float(-1, 1);
  }
  std::vector<double> convolved(2 * n);
  for (int i = 0; i < n / 2; ++i) {
    for (int j = 0; j < n / 2; ++j) convolved[2 * (i + j)] += static_cast<double>(p[i].x) * q[j].x;
  }
  std::vector<float2> both(p);
  both.insert(both.end(), q.begin(), q.end());
  DeviceArray<float2> pair(both);
  FftRadix2<<<2, 64, n * sizeof(float2)>>>(pair.data(), log_n, -1);
  Product<<<n / 64, 64>>>(pair.data(), pair.data() + n, n);
  FftRadix2<<<1, 64, n * sizeof(float2)>>>(pair.data(), log_n, 1);
  LAUNCH_OK();
  std::vector<float> got = Flat(pair.Get());
  got.resize(2 * n);
  for (float& value : got) value /= n;
  ExpectNear("convolution", got, convolved, 0, 2e-5);
  std::printf("X[1] = %.5f%+.5fi, convolution[3] = %.5f\n", want[2], want[3], convolved[6]);
  return Finish();
}
