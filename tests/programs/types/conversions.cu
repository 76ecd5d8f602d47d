// NVCC:
// RUN: %kernelsmith run %x
// Conversions and arithmetic with explicit rounding: float and double to integers of every width
// and back, saturation and NaN, double to float, and add, multiply, divide, root in four modes.
#include <cfenv>
#include <climits>

#include "../check.h"

__global__ void FloatToInt(const float* in, long long* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  long long* r = out + i * 10;
  r[0] = __float2int_rn(x);
  r[1] = __float2int_rz(x);
  r[2] = __float2int_ru(x);
  r[3] = __float2int_rd(x);
  r[4] = __float2uint_rn(x);
  r[5] = __float2uint_rz(x);
  r[6] = __float2ll_rn(x);
  r[7] = __float2ll_rd(x);
  r[8] = static_cast<long long>(__float2ull_ru(x));
  r[9] = __double2int_rn(x) * 3ll + __double2ll_rz(x / 3.0);
}

// What cvt does: round in the given mode, then clamp to the target; NaN becomes 0 for 32 bits.
long long Clamp(double rounded, double low, double high, long long low_value,
                long long high_value) {
  if (rounded <= low) return low_value;
  if (rounded >= high) return high_value;
  return static_cast<long long>(rounded);
}

double Round(double x, int mode) {
  switch (mode) {
    case 0:
      return std::nearbyint(x);
    case 1:
      return std::trunc(x);
    case 2:
      return std::ceil(x);
    default:
      return std::floor(x);
  }
}

long long ToInt(double x, int mode) {
  return std::isnan(x) ? 0 : Clamp(Round(x, mode), INT_MIN, INT_MAX, INT_MIN, INT_MAX);
}
long long ToUint(double x, int mode) {
  return std::isnan(x) ? 0 : Clamp(Round(x, mode), 0, UINT_MAX, 0, UINT_MAX);
}
long long ToLong(double x, int mode) {
  return Clamp(Round(x, mode), -9223372036854775808.0, 9223372036854775808.0, LLONG_MIN, LLONG_MAX);
}
unsigned long long ToUnsignedLong(double x, int mode) {
  const double rounded = Round(x, mode);
  if (rounded <= 0) return 0;
  return rounded >= 18446744073709551616.0 ? ULLONG_MAX : static_cast<unsigned long long>(rounded);
}

__global__ void ToFloat(const long long* in, float* floats, double* doubles, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const long long x = in[i];
  floats[i * 6] = __int2float_rn(static_cast<int>(x));
  floats[i * 6 + 1] = __int2float_rz(static_cast<int>(x));
  floats[i * 6 + 2] = __uint2float_ru(static_cast<unsigned>(x));
  floats[i * 6 + 3] = __ll2float_rd(x);
  floats[i * 6 + 4] = __ull2float_rn(static_cast<unsigned long long>(x));
  floats[i * 6 + 5] = static_cast<float>(static_cast<short>(x)) + static_cast<unsigned char>(x);
  doubles[i * 3] = __ll2double_ru(x);
  doubles[i * 3 + 1] = __ull2double_rz(static_cast<unsigned long long>(x));
  doubles[i * 3 + 2] = __uint2double_rn(static_cast<unsigned>(x));
}

__global__ void Arithmetic(const double* a, const double* b, float* narrow, float* single,
                           double* wide, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double x = a[i], y = b[i];
  const float fx = static_cast<float>(x), fy = static_cast<float>(y);
  float* s = narrow + i * 4;
  s[0] = __double2float_rn(x);
  s[1] = __double2float_rz(x);
  s[2] = __double2float_ru(x);
  s[3] = __double2float_rd(x);
  float* f = single + i * 20;
  f[0] = __fadd_rn(fx, fy), f[1] = __fadd_rz(fx, fy), f[2] = __fadd_ru(fx, fy),
  f[3] = __fadd_rd(fx, fy);
  f[4] = __fmul_rn(fx, fy), f[5] = __fmul_rz(fx, fy), f[6] = __fmul_ru(fx, fy),
  f[7] = __fmul_rd(fx, fy);
  f[8] = __fdiv_rn(fx, fy), f[9] = __fdiv_rz(fx, fy), f[10] = __fdiv_ru(fx, fy),
  f[11] = __fdiv_rd(fx, fy);
  const float p = fabsf(fx);
  f[12] = __fsqrt_rn(p), f[13] = __fsqrt_rz(p), f[14] = __fsqrt_ru(p), f[15] = __fsqrt_rd(p);
  f[16] = __fmaf_rn(fx, fy, fx), f[17] = __fmaf_rz(fx, fy, fx), f[18] = __fmaf_ru(fx, fy, fx);
  f[19] = __fmaf_rd(fx, fy, fx);
  double* d = wide + i * 20;
  d[0] = __dadd_rn(x, y), d[1] = __dadd_rz(x, y), d[2] = __dadd_ru(x, y), d[3] = __dadd_rd(x, y);
  d[4] = __dmul_rn(x, y), d[5] = __dmul_rz(x, y), d[6] = __dmul_ru(x, y), d[7] = __dmul_rd(x, y);
  d[8] = __ddiv_rn(x, y), d[9] = __ddiv_rz(x, y), d[10] = __ddiv_ru(x, y), d[11] = __ddiv_rd(x, y);
  const double q = fabs(x);
  d[12] = __dsqrt_rn(q), d[13] = __dsqrt_rz(q), d[14] = __dsqrt_ru(q), d[15] = __dsqrt_rd(q);
  d[16] = __fma_rn(x, y, x), d[17] = __fma_rz(x, y, x), d[18] = __fma_ru(x, y, x),
  d[19] = __fma_rd(x, y, x);
}

constexpr int kHostModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};

// Volatile keeps the compiler from folding or moving the operation over the change of mode.
template <typename T>
void HostArithmetic(volatile T x, volatile T y, int mode, std::vector<T>& out, size_t at) {
  volatile T magnitude = x < 0 ? -x : x;
  std::fesetround(kHostModes[mode]);
  volatile T sum = x + y, product = x * y, quotient = x / y, root = std::sqrt(magnitude),
             fused = std::fma(x, y, x);
  std::fesetround(FE_TONEAREST);
  out[at + mode] = sum;
  out[at + 4 + mode] = product;
  out[at + 8 + mode] = quotient;
  out[at + 12 + mode] = root;
  out[at + 16 + mode] = fused;
}

int main() {
  Random random(351);
  const int n = 1000;
  std::vector<float> in(n);
  for (float& value : in)
    value = random.Float(-2, 2) * std::ldexp(1.0f, static_cast<int>(random.Below(60)) - 3);
  const float special[] = {0.5f,          1.5f,           2.5f,          -0.5f, -1.5f,
                           2147483648.0f, -2147483648.0f, 4294967296.0f, 3e38f, -3e38f,
                           INFINITY,      -INFINITY,      0.0f,          -0.0f, 1e-40f};
  for (size_t i = 0; i < sizeof special / sizeof special[0]; ++i) in[i] = special[i];
  std::vector<long long> want(n * 10);
  for (int i = 0; i < n; ++i) {
    const double x = in[i];
    for (int mode = 0; mode < 4; ++mode) want[i * 10 + mode] = ToInt(x, mode);
    want[i * 10 + 4] = ToUint(x, 0);
    want[i * 10 + 5] = ToUint(x, 1);
    want[i * 10 + 6] = ToLong(x, 0);
    want[i * 10 + 7] = ToLong(x, 3);
    want[i * 10 + 8] = static_cast<long long>(ToUnsignedLong(x, 2));
    want[i * 10 + 9] = static_cast<long long>(static_cast<unsigned long long>(ToInt(x, 0)) * 3 +
                                              static_cast<unsigned long long>(ToLong(x / 3.0, 1)));
  }
  DeviceArray<float> din(in);
  DeviceArray<long long> dout(n * 10);
  FloatToInt<<<(n + 127) / 128, 128>>>(din.data(), dout.data(), n);
  LAUNCH_OK();
  ExpectEqual("float to integer", dout.Get(), want);

  std::vector<long long> longs(n);
  for (long long& value : longs) value = static_cast<long long>(random.Bits()) >> random.Below(60);
  std::vector<float> floats(n * 6);
  std::vector<double> doubles(n * 3);
  for (int i = 0; i < n; ++i) {
    const volatile long long x = longs[i];
    auto in_mode = [](int mode, auto convert) {
      std::fesetround(mode);
      auto result = convert();
      std::fesetround(FE_TONEAREST);
      return result;
    };
    const volatile int xi = static_cast<int>(x);
    const volatile unsigned xu = static_cast<unsigned>(x);
    const volatile unsigned long long xull = static_cast<unsigned long long>(x);
    floats[i * 6] = static_cast<float>(xi);
    floats[i * 6 + 1] = in_mode(FE_TOWARDZERO, [&] {
      volatile float f = static_cast<float>(xi);
      return f;
    });
    floats[i * 6 + 2] = in_mode(FE_UPWARD, [&] {
      volatile float f = static_cast<float>(xu);
      return f;
    });
    floats[i * 6 + 3] = in_mode(FE_DOWNWARD, [&] {
      volatile float f = static_cast<float>(x);
      return f;
    });
    floats[i * 6 + 4] = static_cast<float>(xull);
    floats[i * 6 + 5] = static_cast<float>(static_cast<short>(x)) + static_cast<unsigned char>(x);
    doubles[i * 3] = in_mode(FE_UPWARD, [&] {
      volatile double d = static_cast<double>(x);
      return d;
    });
    // Above 2^63 compilers convert in two steps, which double rounds in other modes: do it by bits.
    const int drop = xull == 0 ? 0 : std::max(0, 11 - __builtin_clzll(xull));
    doubles[i * 3 + 1] = static_cast<double>(xull >> drop << drop);
    doubles[i * 3 + 2] = static_cast<double>(xu);
  }
  DeviceArray<long long> dlongs(longs);
  DeviceArray<float> dfloats(n * 6);
  DeviceArray<double> ddoubles(n * 3);
  ToFloat<<<(n + 127) / 128, 128>>>(dlongs.data(), dfloats.data(), ddoubles.data(), n);
  LAUNCH_OK();
  ExpectEqual("integer to float", dfloats.Get(), floats);
  ExpectEqual("integer to double", ddoubles.Get(), doubles);

  std::vector<double> a(n), b(n), wide(n * 20);
  std::vector<float> narrow(n * 4), single(n * 20);
  for (int i = 0; i < n; ++i) {
    a[i] = random.Float(-2, 2) + random.Float(-1, 1) * 1e-9;
    b[i] = (random.Float(0.5f, 2) + random.Float(-1, 1) * 1e-9) * (random.Below(2) ? 1 : -1);
    // A few with results among the denormal floats.
    if (i % 10 == 0) a[i] = std::ldexp(a[i], -126), b[i] = std::ldexp(b[i], i % 20 == 0 ? 8 : -4);
    for (int mode = 0; mode < 4; ++mode) {
      std::fesetround(kHostModes[mode]);
      volatile double x = a[i];
      volatile float rounded = static_cast<float>(x);
      std::fesetround(FE_TONEAREST);
      narrow[i * 4 + mode] = rounded;
      HostArithmetic<float>(static_cast<float>(a[i]), static_cast<float>(b[i]), mode, single,
                            i * 20);
      HostArithmetic<double>(a[i], b[i], mode, wide, i * 20);
    }
  }
  DeviceArray<double> da(a), db(b), dwide(n * 20);
  DeviceArray<float> dnarrow(n * 4), dsingle(n * 20);
  Arithmetic<<<(n + 127) / 128, 128>>>(da.data(), db.data(), dnarrow.data(), dsingle.data(),
                                       dwide.data(), n);
  LAUNCH_OK();
  ExpectEqual("double to float", dnarrow.Get(), narrow);
  ExpectEqual("float arithmetic", dsingle.Get(), single);
  ExpectEqual("double arithmetic", dwide.Get(), wide);
  std::printf("checked %d values in four modes\n", n);
  return Finish();
}
