#include "vgpu/math/libdevice.h"

#include <math.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

#include "vgpu/math/types.h"

namespace kernelsmith::vgpu::math {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- Functions that the C library lacks.

// sin(pi x) and cos(pi x): x is reduced exactly, to quarter turns and a rest of at most 1/4.
struct Turn {
  int quarter;
  long double angle;
};
Turn Reduce(double x) {
  const double turn = std::fmod(x, 2.0);
  const double quarter = std::nearbyint(2 * turn);
  return {static_cast<int>(quarter) & 3,
          (static_cast<long double>(turn) - quarter / 2) * std::numbers::pi_v<long double>};
}
double SinPi(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x == std::trunc(x)) return std::copysign(0.0, x);
  const auto [quarter, angle] = Reduce(x);
  const long double value = (quarter & 1) != 0 ? std::cos(angle) : std::sin(angle);
  return static_cast<double>((quarter & 2) != 0 ? -value : value);
}
double CosPi(double x) {
  if (!std::isfinite(x)) return kNan;
  const auto [quarter, angle] = Reduce(x);
  const long double value = (quarter & 1) != 0 ? -std::sin(angle) : std::cos(angle);
  return static_cast<double>(((quarter & 2) != 0 ? -value : value) + 0.0L);
}

// exp(x^2) erfc(x). x^2 in long double is good to 1e-19 x^2; from 100 on the series' third term is
// below 1e-16.
double Erfcx(double x) {
  const long double wide = x;
  if (x < 100) return static_cast<double>(std::exp(wide * wide) * std::erfc(wide));
  const double inverse = 1 / (x * x);
  return std::numbers::inv_sqrtpi / x * (1 - inverse / 2 * (1 - 1.5 * inverse));
}

// Inverses by Halley's iteration on the function itself, whose error it cubes each time.
double ErfcInverse(double y) {
  if (!(y >= 0 && y <= 2)) return kNan;
  if (y == 0) return kInfinity;
  if (y == 2) return -kInfinity;
  if (y > 1) return -ErfcInverse(2 - y);
  // erfc(z) ~ exp(-z^2) / (z sqrt(pi)) gives the start for small y.
  const long double target = y;
  long double z = 0;
  if (y < 0.5) {
    const long double t = -std::log(target);
    z = std::sqrt(
        std::max(t - 0.5L * std::log(std::max(t, 0.4L) * std::numbers::pi_v<long double>), 0.2L));
  }
  for (int i = 0; i < 6; ++i) {
    const long double error = (std::erfc(z) - target) * std::exp(z * z) *
                              (std::sqrt(std::numbers::pi_v<long double>) / 2);
    z += error / (1 - z * error);
  }
  return static_cast<double>(z);
}
double ErfInverse(double x) {
  if (!(x >= -1 && x <= 1)) return kNan;
  if (std::abs(x) > 0.5) return std::copysign(ErfcInverse(1 - std::abs(x)), x);
  const long double target = x;
  long double z = target * std::sqrt(std::numbers::pi_v<long double>) / 2;
  for (int i = 0; i < 4; ++i) {
    const long double error =
        (std::erf(z) - target) * std::exp(z * z) * (std::sqrt(std::numbers::pi_v<long double>) / 2);
    z -= error / (1 + z * error);
  }
  return x == 0 ? x : static_cast<double>(z);
}
double NormCdf(double x) {
  return static_cast<double>(
      std::erfc(-static_cast<long double>(x) / std::numbers::sqrt2_v<long double>) / 2);
}
double NormCdfInverse(double p) { return -std::numbers::sqrt2 * ErfcInverse(2 * p); }

// Beyond 713 they are infinite; the library's series would not end.
double BesselI0(double x) {
  return std::isnan(x)        ? kNan
         : std::abs(x) >= 714 ? kInfinity
                              : std::cyl_bessel_i(0.0, std::abs(x));
}
double BesselI1(double x) {
  if (std::isnan(x)) return kNan;
  return std::copysign(std::abs(x) >= 714 ? kInfinity : std::cyl_bessel_i(1.0, std::abs(x)), x);
}

double LogGamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}
double Exp10(double x) { return exp10(x); }
double ReciprocalCbrt(double x) { return 1 / std::cbrt(x); }
double ReciprocalSqrt(double x) {
  return static_cast<double>(1 / std::sqrt(static_cast<long double>(x)));
}
double ReciprocalHypot(double x, double y) { return 1 / std::hypot(x, y); }
double Norm3(double x, double y, double z) { return std::hypot(x, y, z); }
double Norm4(double x, double y, double z, double w) { return std::hypot(std::hypot(x, y, z), w); }
double ReciprocalNorm3(double x, double y, double z) { return 1 / Norm3(x, y, z); }
double ReciprocalNorm4(double x, double y, double z, double w) { return 1 / Norm4(x, y, z, w); }
// As __powf: exp2(y log2 x), so of a negative x there is none.
double FastPow(double x, double y) { return std::exp2(y * std::log2(x)); }
double PowInteger(double x, int32_t n) { return std::pow(x, n); }
double Ldexp(double x, int32_t n) { return std::ldexp(x, n); }
double BesselJ(int32_t n, double x) { return n < 0 ? kNan : jn(n, x); }
double BesselY(int32_t n, double x) { return n < 0 ? kNan : yn(n, x); }
int32_t Ilogb(double x) { return std::ilogb(x); }
int64_t RoundToInteger(double x) {
  if (std::isnan(x)) return std::numeric_limits<int64_t>::min();
  constexpr double kLimit = 0x1p63;
  if (x >= kLimit) return std::numeric_limits<int64_t>::max();
  if (x <= -kLimit) return std::numeric_limits<int64_t>::min();
  return std::llround(x);
}

template <typename A, typename B>
struct Two {
  A first;
  B second;
};
Two<double, double> SinCos(double x) { return {std::sin(x), std::cos(x)}; }
Two<double, double> SinCosPi(double x) { return {SinPi(x), CosPi(x)}; }
Two<double, int32_t> Frexp(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return {fraction, std::isfinite(x) ? exponent : 0};
}
Two<double, double> Modf(double x) {
  double whole = 0;
  const double fraction = std::modf(x, &whole);
  return {fraction, whole};
}
Two<double, int32_t> Remquo(double x, double y) {
  int quotient = 0;
  const double rest = std::remquo(x, y, &quotient);
  return {rest, quotient};
}

// ---- From functions of double to table entries.

template <typename T>
T FromBits(uint64_t bits) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<uint32_t>(bits));
  } else {
    return std::bit_cast<T>(bits);
  }
}
uint64_t ToBits(float value) { return std::bit_cast<uint32_t>(CanonicalNan(value)); }
uint64_t ToBits(double value) { return std::bit_cast<uint64_t>(value); }
uint64_t ToBits(int32_t value) { return static_cast<uint32_t>(value); }
uint64_t ToBits(int64_t value) { return static_cast<uint64_t>(value); }

// double where kFloat says so becomes float.
template <bool kFloat, typename T>
using Narrowed = std::conditional_t<kFloat && std::is_same_v<T, double>, float, T>;

template <bool kFloat, auto kFunction, typename Result, typename... Arguments>
void Evaluate(const uint64_t* in, uint64_t* out) {
  const auto call = [in]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    return kFunction(FromBits<Narrowed<kFloat, Arguments>>(in[kIndex])...);
  };
  const Result result = call(std::index_sequence_for<Arguments...>());
  if constexpr (requires { result.second; }) {
    out[0] = ToBits(static_cast<Narrowed<kFloat, decltype(result.first)>>(result.first));
    out[1] = ToBits(static_cast<Narrowed<kFloat, decltype(result.second)>>(result.second));
  } else {
    out[0] = ToBits(static_cast<Narrowed<kFloat, Result>>(result));
  }
}

template <bool kFloat, auto kFunction>
struct Evaluator;
template <bool kFloat, typename Result, typename... Arguments, Result (*kFunction)(Arguments...)>
struct Evaluator<kFloat, kFunction> {
  static constexpr auto kPointer = &Evaluate<kFloat, kFunction, Result, Arguments...>;
};

using F1 = double (*)(double);
using F2 = double (*)(double, double);

std::vector<LibdeviceFunction> MakeTable() {
  std::vector<LibdeviceFunction> table;
  const auto add = [&](const char* name, const char* base, const char* arguments,
                       const char* results, auto evaluate, bool returns_value = true) {
    table.push_back({name, base, arguments, results, returns_value, evaluate});
  };
// __nv_<base>f and __nv_<base>.
#define KS_BOTH(base, arguments_f, results_f, arguments_d, results_d, function)             \
  add("__nv_" base "f", base, arguments_f, results_f, Evaluator<true, function>::kPointer); \
  add("__nv_" base, base, arguments_d, results_d, Evaluator<false, function>::kPointer);
#define KS_ONE(base, function) KS_BOTH(base, "f", "f", "d", "d", static_cast<F1>(function))
#define KS_TWO(base, function) KS_BOTH(base, "ff", "f", "dd", "d", static_cast<F2>(function))
#define KS_FAST(base, function) \
  add("__nv_fast_" base "f", base, "f", "f", Evaluator<true, static_cast<F1>(function)>::kPointer);
  KS_ONE("acos", std::acos)
  KS_ONE("acosh", std::acosh)
  KS_ONE("asin", std::asin)
  KS_ONE("asinh", std::asinh)
  KS_ONE("atan", std::atan)
  KS_ONE("atanh", std::atanh)
  KS_ONE("cbrt", std::cbrt)
  KS_ONE("cos", std::cos)
  KS_ONE("cosh", std::cosh)
  KS_ONE("cospi", CosPi)
  KS_ONE("cyl_bessel_i0", BesselI0)
  KS_ONE("cyl_bessel_i1", BesselI1)
  KS_ONE("erf", std::erf)
  KS_ONE("erfc", std::erfc)
  KS_ONE("erfcinv", ErfcInverse)
  KS_ONE("erfcx", Erfcx)
  KS_ONE("erfinv", ErfInverse)
  KS_ONE("exp", std::exp)
  KS_ONE("exp10", Exp10)
  KS_ONE("exp2", std::exp2)
  KS_ONE("expm1", std::expm1)
  KS_ONE("j0", ::j0)
  KS_ONE("j1", ::j1)
  KS_ONE("lgamma", LogGamma)
  KS_ONE("log", std::log)
  KS_ONE("log10", std::log10)
  KS_ONE("log1p", std::log1p)
  KS_ONE("log2", std::log2)
  KS_ONE("logb", std::logb)
  KS_ONE("normcdf", NormCdf)
  KS_ONE("normcdfinv", NormCdfInverse)
  KS_ONE("rcbrt", ReciprocalCbrt)
  KS_ONE("round", std::round)
  KS_ONE("sin", std::sin)
  KS_ONE("sinh", std::sinh)
  KS_ONE("sinpi", SinPi)
  KS_ONE("tan", std::tan)
  KS_ONE("tanh", std::tanh)
  KS_ONE("tgamma", std::tgamma)
  KS_ONE("y0", ::y0)
  KS_ONE("y1", ::y1)
  add("__nv_rsqrt", "rsqrt", "d", "d", Evaluator<false, ReciprocalSqrt>::kPointer);
  add("__nv_frsqrt_rn", "rsqrt", "f", "f", Evaluator<true, ReciprocalSqrt>::kPointer);
  KS_TWO("atan2", std::atan2)
  KS_TWO("copysign", std::copysign)
  KS_TWO("fmod", std::fmod)
  KS_TWO("hypot", std::hypot)
  KS_TWO("pow", std::pow)
  KS_TWO("remainder", std::remainder)
  KS_TWO("rhypot", ReciprocalHypot)
  // The neighbour of a float is not the neighbour of a double.
  add("__nv_nextafterf", "nextafter", "ff", "f",
      Evaluator<false, static_cast<float (*)(float, float)>(std::nextafter)>::kPointer);
  add("__nv_nextafter", "nextafter", "dd", "d",
      Evaluator<false, static_cast<F2>(std::nextafter)>::kPointer);
  KS_BOTH("norm3d", "fff", "f", "ddd", "d", Norm3)
  KS_BOTH("rnorm3d", "fff", "f", "ddd", "d", ReciprocalNorm3)
  KS_BOTH("norm4d", "ffff", "f", "dddd", "d", Norm4)
  KS_BOTH("rnorm4d", "ffff", "f", "dddd", "d", ReciprocalNorm4)
  KS_BOTH("powi", "fi", "f", "di", "d", PowInteger)
  KS_BOTH("ldexp", "fi", "f", "di", "d", Ldexp)
  KS_BOTH("scalbn", "fi", "f", "di", "d", Ldexp)
  KS_BOTH("jn", "if", "f", "id", "d", BesselJ)
  KS_BOTH("yn", "if", "f", "id", "d", BesselY)
  KS_BOTH("ilogb", "f", "i", "d", "i", Ilogb)
  KS_BOTH("llround", "f", "l", "d", "l", RoundToInteger)
  KS_BOTH("frexp", "f", "fi", "d", "di", Frexp)
  KS_BOTH("modf", "f", "ff", "d", "dd", Modf)
  KS_BOTH("remquo", "ff", "fi", "dd", "di", Remquo)
  KS_FAST("cos", std::cos)
  KS_FAST("exp", std::exp)
  KS_FAST("exp10", Exp10)
  KS_FAST("log", std::log)
  KS_FAST("log10", std::log10)
  KS_FAST("log2", std::log2)
  KS_FAST("sin", std::sin)
  KS_FAST("tan", std::tan)
  KS_FAST("tanh", std::tanh)
  add("__nv_fast_powf", "pow", "ff", "f", Evaluator<true, FastPow>::kPointer);
  add("__nv_sincosf", "sincos", "f", "ff", Evaluator<true, SinCos>::kPointer, false);
  add("__nv_fast_sincosf", "sincos", "f", "ff", Evaluator<true, SinCos>::kPointer, false);
  add("__nv_sincos", "sincos", "d", "dd", Evaluator<false, SinCos>::kPointer, false);
  add("__nv_sincospif", "sincospi", "f", "ff", Evaluator<true, SinCosPi>::kPointer, false);
  add("__nv_sincospi", "sincospi", "d", "dd", Evaluator<false, SinCosPi>::kPointer, false);
#undef KS_FAST
#undef KS_TWO
#undef KS_ONE
#undef KS_BOTH
  std::sort(table.begin(), table.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return table;
}

}  // namespace

std::span<const LibdeviceFunction> LibdeviceFunctions() {
  static const std::vector<LibdeviceFunction> table = MakeTable();
  return table;
}

const LibdeviceFunction* FindLibdeviceFunction(std::string_view name) {
  const auto table = LibdeviceFunctions();
  const auto it =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const LibdeviceFunction& f, std::string_view n) { return f.name < n; });
  return it != table.end() && it->name == name ? &*it : nullptr;
}

}  // namespace kernelsmith::vgpu::math
