// NVCC:
// RUN: %kernelsmith run %x
// The double math library against the host's long double, within a few units of the last place.
#include "../check.h"

// clang-format off: a table
#define FUNCTIONS(F) \
  F(sin, sinl, -100, 100, 2) F(cos, cosl, -100, 100, 2) F(tan, tanl, -100, 100, 2) \
  F(sinh, sinhl, -10, 10, 2) F(cosh, coshl, -10, 10, 1) F(tanh, tanhl, -5, 5, 1) \
  F(asin, asinl, -1, 1, 2) F(acos, acosl, -1, 1, 2) F(atan, atanl, -10, 10, 2) \
  F(asinh, asinhl, -100, 100, 3) F(acosh, acoshl, 1, 100, 3) F(atanh, atanhl, -0.99, 0.99, 2) \
  F(exp, expl, -700, 700, 1) F(exp2, exp2l, -1000, 1000, 1) F(expm1, expm1l, -5, 5, 1) \
  F(log, logl, 0, 100, 1) F(log2, log2l, 0, 100, 1) F(log10, log10l, 0, 100, 1) \
  F(log1p, log1pl, -0.9, 100, 1) F(sqrt, sqrtl, 0, 1000, 0) F(cbrt, cbrtl, -1000, 1000, 1) \
  F(erf, erfl, -3, 3, 2) F(erfc, erfcl, -3, 20, 5) F(tgamma, tgammal, 0.5, 100, 10) \
  F(lgamma, lgammal, 3, 50, 4) F(j0, j0l, 0, 8, 9) F(j1, j1l, 0, 8, 9) F(ceil, ceill, -9, 9, 0) \
  F(floor, floorl, -9, 9, 0) F(trunc, truncl, -9, 9, 0) F(round, roundl, -9, 9, 0) \
  F(rint, nearbyintl, -9, 9, 0) F(rsqrt, Rsqrt, 0, 1000, 1)
// clang-format on

// clang-format off: a table
#define FUNCTIONS2(F) \
  F(pow, powl, 0.1, 10, -80, 80, 2) F(atan2, atan2l, -5, 5, -5, 5, 2) \
  F(hypot, hypotl, -9, 9, -9, 9, 2) F(fmod, fmodl, -1e6, 1e6, 0.5, 7, 0) \
  F(remainder, remainderl, -1e6, 1e6, 0.5, 7, 0) F(fmax, fmaxl, -5, 5, -5, 5, 0) \
  F(copysign, copysignl, -5, 5, -5, 5, 0) F(fdim, fdiml, -5, 5, -5, 5, 0)
// clang-format on

long double Rsqrt(long double x) { return 1 / sqrtl(x); }

#define ONE(name, host, low, high, ulps)                             \
  __global__ void Kernel_##name(const double* x, double* y, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;             \
    if (i < n) y[i] = name(x[i]);                                    \
  }
FUNCTIONS(ONE)
#define TWO(name, host, low, high, low2, high2, ulps)                                 \
  __global__ void Kernel_##name(const double* x, const double* z, double* y, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                              \
    if (i < n) y[i] = name(x[i], z[i]);                                               \
  }
FUNCTIONS2(TWO)

// Several results at once, and functions with other signatures.
__global__ void Others(const double* x, double* out, int* exponents, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double s, c, whole;
  sincos(x[i], &s, &c);
  out[i * 8] = s;
  out[i * 8 + 1] = c;
  out[i * 8 + 2] = modf(x[i], &whole);
  out[i * 8 + 3] = whole;
  out[i * 8 + 4] = frexp(x[i], &exponents[i * 3]);
  out[i * 8 + 5] = ldexp(x[i], 17);
  out[i * 8 + 6] = norm3d(x[i], 2.0, 3.0);
  out[i * 8 + 7] = fma(x[i], x[i], -1.0);
  exponents[i * 3 + 1] = ilogb(x[i]);
  exponents[i * 3 + 2] = isnan(x[i]) * 4 + (isinf(x[i]) != 0) * 2 + (signbit(x[i]) != 0);
}

double Ulps(double got, long double want) {
  const double nearest = static_cast<double>(want);
  if (std::isnan(nearest)) return std::isnan(got) ? 0 : 1e30;
  if (std::isinf(nearest)) return got == nearest ? 0 : 1e30;
  if (std::isnan(got) || std::isinf(got)) return 1e30;
  const int exponent = std::max(nearest == 0 ? -1022 : std::ilogb(nearest), -1022);
  return static_cast<double>(fabsl(got - want) / ldexpl(1.0L, exponent - 52));
}

void Compare(const char* name, const std::vector<double>& got, const std::vector<long double>& want,
             double allowed) {
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double ulps = Ulps(got[i], want[i]);
    if (ulps > worst) {
      worst = ulps;
      at = i;
    }
  }
  if (worst <= allowed + 0.501) return;
  ++g_failures;
  std::printf("FAILED: %s is %.2f ulp off at %zu: %.17g, expected %.17Lg\n", name, worst, at,
              got[at], want[at]);
}

std::vector<double> Doubles(Random& random, int n, double low, double high) {
  std::vector<double> values(n);
  for (double& value : values)
    value = low + (high - low) * static_cast<double>(random.Bits() >> 11) / 9007199254740992.0;
  return values;
}

int main() {
  const int n = 256;
  Random random(371);
  DeviceArray<double> dx(n), dz(n), dy(n);
  int functions = 0;
#define RUN(name, host, low, high, ulps)                                        \
  {                                                                             \
    const std::vector<double> x = Doubles(random, n, low, high);                \
    std::vector<long double> want(n);                                           \
    for (int i = 0; i < n; ++i) want[i] = host(static_cast<long double>(x[i])); \
    dx.Set(x);                                                                  \
    Kernel_##name<<<2, 128>>>(dx.data(), dy.data(), n);                         \
    LAUNCH_OK();                                                                \
    Compare(#name, dy.Get(), want, ulps);                                       \
    ++functions;                                                                \
  }
  FUNCTIONS(RUN)
#define RUN2(name, host, low, high, low2, high2, ulps)                                \
  {                                                                                   \
    const std::vector<double> x = Doubles(random, n, low, high),                      \
                              z = Doubles(random, n, low2, high2);                    \
    std::vector<long double> want(n);                                                 \
    for (int i = 0; i < n; ++i)                                                       \
      want[i] = host(static_cast<long double>(x[i]), static_cast<long double>(z[i])); \
    dx.Set(x);                                                                        \
    dz.Set(z);                                                                        \
    Kernel_##name<<<2, 128>>>(dx.data(), dz.data(), dy.data(), n);                    \
    LAUNCH_OK();                                                                      \
    Compare(#name, dy.Get(), want, ulps);                                             \
    ++functions;                                                                      \
  }
  FUNCTIONS2(RUN2)

  std::vector<double> x = Doubles(random, n, -50, 50);
  x[0] = 1e22;  // needs the slow reduction
  x[1] = 1e-310;
  DeviceArray<double> out(n * 8);
  DeviceArray<int> exponents(n * 3);
  dx.Set(x);
  Others<<<2, 128>>>(dx.data(), out.data(), exponents.data(), n);
  LAUNCH_OK();
  std::vector<long double> want;
  std::vector<int> want_exponents;
  for (double value : x) {
    double whole;
    int exponent;
    const double rest = std::modf(value, &whole), fraction = std::frexp(value, &exponent);
    want.insert(want.end(), {sinl(value), cosl(value), rest, whole, fraction, std::ldexp(value, 17),
                             sqrtl(static_cast<long double>(value) * value + 13),
                             std::fma(value, value, -1.0)});
    want_exponents.insert(want_exponents.end(),
                          {exponent, std::ilogb(value), std::signbit(value) ? 1 : 0});
  }
  Compare("others", out.Get(), want, 2);
  ExpectEqual("exponents", exponents.Get(), want_exponents);
  std::printf("%d functions\n", functions + 8);
  return Finish();
}
