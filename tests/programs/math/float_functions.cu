// NVCC:
// RUN: %kernelsmith run %x
// The float math library against double on the host, each function within the error that CUDA
// documents (in units of the last place), including denormals, huge arguments and special values.
#include "../check.h"

// clang-format off: a table
#define FUNCTIONS(F) \
  F(sinf, sin, -100, 100, 2) F(cosf, cos, -100, 100, 2) F(tanf, tan, -100, 100, 4) \
  F(sinhf, sinh, -10, 10, 3) F(coshf, cosh, -10, 10, 2) F(tanhf, tanh, -5, 5, 2) \
  F(asinf, asin, -1, 1, 2) F(acosf, acos, -1, 1, 2) F(atanf, atan, -10, 10, 2) \
  F(asinhf, asinh, -100, 100, 3) F(acoshf, acosh, 1, 100, 4) F(atanhf, atanh, -0.99, 0.99, 3) \
  F(expf, exp, -80, 80, 2) F( exp2f, exp2, -120, 120, 2) F(exp10f, Exp10, -35, 35, 2) \
  F(expm1f, expm1, -5, 5, 1) F(logf, log, 0, 100, 1) F(log2f, log2, 0, 100, 1) \
  F(log10f, log10, 0, 100, 2) F( log1pf, log1p, -0.9, 100, 1) F(logbf, logb, 0, 1000, 0) \
  F(sqrtf, sqrt, 0, 1000, 0) F(rsqrtf, Rsqrt, 0, 1000, 2) F(cbrtf, cbrt, -1000, 1000, 1) \
  F(rcbrtf, Rcbrt, 1, 1000, 1) F(erff, erf, -3, 3, 2) F(erfcf, erfc, -3, 5, 4) \
  F(tgammaf, tgamma, 0.5, 20, 5) F(lgammaf, lgamma, 3, 50, 6) F(j0f, j0, 0, 8, 9) \
  F(j1f, j1, 0, 8, 9) F(y0f, y0, 1, 8, 9) F(y1f, y1, 1, 8, 9) F(erfinvf, Erfinv, -0.9, 0.9, 2) \
  F(normcdff, Normcdf, -4, 4, 5) F(sinpif, Sinpi, -10, 10, 1) F(cospif, Cospi, -10, 10, 1) \
  F(ceilf, ceil, -100, 100, 0) F(floorf, floor, -100, 100, 0) F(truncf, trunc, -100, 100, 0) \
  F(roundf, round, -100, 100, 0) F(rintf, nearbyint, -100, 100, 0) F(fabsf, fabs, -10, 10, 0)
// clang-format on

// clang-format off: a table
#define FUNCTIONS2(F) \
  F(powf, pow, 0.1, 10, -8, 8, 4) F(atan2f, atan2, -5, 5, -5, 5, 3) \
  F(hypotf, hypot, -9, 9, -9, 9, 3) F(fmodf, fmod, -1000, 1000, 0.5, 7, 0) \
  F(remainderf, remainder, -1000, 1000, 0.5, 7, 0) F(fdimf, fdim, -5, 5, -5, 5, 1) \
  F(fmaxf, fmax, -5, 5, -5, 5, 0) F(fminf, fmin, -5, 5, -5, 5, 0) \
  F(copysignf, copysign, -5, 5, -5, 5, 0) F(nextafterf, Nextafter, -5, 5, -5, 5, 0)
// clang-format on

double Exp10(double x) { return std::pow(10.0, x); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }
double Rcbrt(double x) { return 1 / std::cbrt(x); }
double Normcdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double Sinpi(double x) { return std::sin(std::acos(-1.0) * std::remainder(x, 2.0)); }
double Cospi(double x) { return std::cos(std::acos(-1.0) * std::remainder(x, 2.0)); }
double Nextafter(double x, double y) {
  return std::nextafterf(static_cast<float>(x), static_cast<float>(y));
}
double Erfinv(double x) {  // Newton's method on erf
  double y = 0;
  for (int i = 0; i < 60; ++i)
    y -= (std::erf(y) - x) / (2 / std::sqrt(std::acos(-1.0)) * std::exp(-y * y));
  return y;
}

#define ONE(name, host, low, high, ulps)                           \
  __global__ void Kernel_##name(const float* x, float* y, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;           \
    if (i < n) y[i] = name(x[i]);                                  \
  }
FUNCTIONS(ONE)
#define TWO(name, host, low, high, low2, high2, ulps)                              \
  __global__ void Kernel_##name(const float* x, const float* z, float* y, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                           \
    if (i < n) y[i] = name(x[i], z[i]);                                            \
  }
FUNCTIONS2(TWO)

// Distance from the exact value in units of the last place of the float nearest to it.
double Ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  const float nearest = static_cast<float>(want);
  if (std::isinf(nearest)) return got == nearest ? 0 : 1e30;
  if (std::isnan(got) || std::isinf(got)) return 1e30;
  const double unit =
      std::ldexp(1.0, std::max(std::ilogb(nearest == 0 ? 1e-45f : nearest), -126) - 23);
  return std::fabs(got - want) / unit;
}

double g_worst = 0;

void Compare(const char* name, const std::vector<float>& got, const std::vector<double>& want,
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
  // Correct rounding is half a unit away from the exact value.
  if (worst > allowed + 0.501) {
    ++g_failures;
    std::printf("FAILED: %s is %.2f ulp off at %zu: %.9g, expected %.9g\n", name, worst, at,
                got[at], want[at]);
  }
  if (worst < 1e29) g_worst = std::max(g_worst, worst);
}

int main() {
  const int n = 400, blocks = (n + 127) / 128;
  Random random(361);
  DeviceArray<float> dx(n), dz(n), dy(n);
  int functions = 0;
#define RUN(name, host, low, high, ulps)                                   \
  {                                                                        \
    const std::vector<float> x = random.Floats(n, low, high);              \
    std::vector<double> want(n);                                           \
    for (int i = 0; i < n; ++i) want[i] = host(static_cast<double>(x[i])); \
    dx.Set(x);                                                             \
    Kernel_##name<<<blocks, 128>>>(dx.data(), dy.data(), n);               \
    LAUNCH_OK();                                                           \
    Compare(#name, dy.Get(), want, ulps);                                  \
    ++functions;                                                           \
  }
  FUNCTIONS(RUN)
#define RUN2(name, host, low, high, low2, high2, ulps)                                           \
  {                                                                                              \
    const std::vector<float> x = random.Floats(n, low, high), z = random.Floats(n, low2, high2); \
    std::vector<double> want(n);                                                                 \
    for (int i = 0; i < n; ++i)                                                                  \
      want[i] = host(static_cast<double>(x[i]), static_cast<double>(z[i]));                      \
    dx.Set(x);                                                                                   \
    dz.Set(z);                                                                                   \
    Kernel_##name<<<blocks, 128>>>(dx.data(), dz.data(), dy.data(), n);                          \
    LAUNCH_OK();                                                                                 \
    Compare(#name, dy.Get(), want, ulps);                                                        \
    ++functions;                                                                                 \
  }
  FUNCTIONS2(RUN2)

  // Huge arguments need the slow reduction; the others are special values.
  const std::vector<float> hard = {1e10f,     3.4e38f, 123456.789f, -1e20f, INFINITY, -INFINITY,
                                   NAN,       0.0f,    -0.0f,       1e-40f, 1e-45f,   -1e-40f,
                                   88.72284f, 89.0f,   -103.0f,     -87.5f, 1.0f,     -1.0f};
  const int m = static_cast<int>(hard.size());
  DeviceArray<float> dh(hard), dr(m);
  auto special = [&](const char* name, void (*kernel)(const float*, float*, int),
                     double (*host)(double), double ulps) {
    kernel<<<1, 32>>>(dh.data(), dr.data(), m);
    LAUNCH_OK();
    std::vector<double> want;
    for (float x : hard) want.push_back(host(x));
    Compare(name, dr.Get(), want, ulps);
  };
  special("sinf, special", Kernel_sinf, std::sin, 2);
  special("cosf, special", Kernel_cosf, std::cos, 2);
  special("expf, special", Kernel_expf, std::exp, 2);
  special("logf, special", Kernel_logf, std::log, 1);
  special("sqrtf, special", Kernel_sqrtf, std::sqrt, 0);
  special("tanhf, special", Kernel_tanhf, std::tanh, 2);
  special("erff, special", Kernel_erff, std::erf, 2);
  special("cbrtf, special", Kernel_cbrtf, std::cbrt, 1);
  std::printf("%d functions, none worse than %s\n", functions, g_worst < 10 ? "10 ulp" : "allowed");
  return Finish();
}
