// The same scalar functions for float, double, Bounded and Symbolic: what operators are written in.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "field/bounded.h"
#include "field/symbolic.h"

namespace kernelsmith {

// X(name, function of double x, slope at x with y = f(x)). One argument, smooth; for float and
// double the function itself, for Bounded with the slope, for Symbolic by the rules in
// functions.cc.
#define KS_UNARY_FUNCTIONS(X)                                                                \
  X(Exp, std::exp(x), y)                                                                     \
  X(Exp2, std::exp2(x), y * 0.6931471805599453)                                              \
  X(Expm1, std::expm1(x), y + 1)                                                             \
  X(Log, std::log(x), 1 / x)                                                                 \
  X(Log2, std::log2(x), 1.4426950408889634 / x)                                              \
  X(Log10, std::log10(x), 0.4342944819032518 / x)                                            \
  X(Log1p, std::log1p(x), 1 / (1 + x))                                                       \
  X(Sqrt, std::sqrt(x), 0.5 / y)                                                             \
  X(Rsqrt, 1 / std::sqrt(x), 0.5 * y / x)                                                    \
  X(Tanh, std::tanh(x), 1 - y * y)                                                           \
  X(Sigmoid, x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)), y * (1 - y)) \
  X(Sin, std::sin(x), std::cos(x))                                                           \
  X(Cos, std::cos(x), std::sin(x))                                                           \
  X(Tan, std::tan(x), 1 + y * y)                                                             \
  X(Asin, std::asin(x), 1 / std::sqrt(1 - x * x))                                            \
  X(Acos, std::acos(x), 1 / std::sqrt(1 - x * x))                                            \
  X(Atan, std::atan(x), 1 / (1 + x * x))                                                     \
  X(Sinh, std::sinh(x), std::cosh(x))                                                        \
  X(Cosh, std::cosh(x), std::sinh(x))                                                        \
  X(Asinh, std::asinh(x), 1 / std::sqrt(1 + x * x))                                          \
  X(Acosh, std::acosh(x), 1 / std::sqrt(x * x - 1))                                          \
  X(Atanh, std::atanh(x), 1 / (1 - x * x))                                                   \
  X(Erf, std::erf(x), 1.1283791670955126 * std::exp(-x * x))                                 \
  X(Erfc, std::erfc(x), 1.1283791670955126 * std::exp(-x * x))                               \
  X(Lgamma, std::lgamma(x), 1)

// X(name, function of double x): steps; where they jump, rounding decides.
#define KS_STEP_FUNCTIONS(X)  \
  X(Floor, std::floor(x))     \
  X(Ceil, std::ceil(x))       \
  X(Trunc, std::trunc(x))     \
  X(Round, std::nearbyint(x)) \
  X(Sign, (x > 0) - (x < 0))

template <typename T>
concept Machine = std::is_same_v<T, float> || std::is_same_v<T, double>;

#define KS_DECLARE(name, function, slope) \
  template <Machine T>                    \
  inline T name(T x) {                    \
    return static_cast<T>(function);      \
  }                                       \
  inline Bounded name(Bounded b) {        \
    const double x = b.v;                 \
    const double y = function;            \
    static_cast<void>(y);                 \
    return BoundedFunction(y, slope, b);  \
  }                                       \
  Symbolic name(const Symbolic& x);
KS_UNARY_FUNCTIONS(KS_DECLARE)
#undef KS_DECLARE

#define KS_DECLARE(name, function)   \
  template <Machine T>               \
  inline T name(T x) {               \
    return static_cast<T>(function); \
  }                                  \
  inline Bounded name(Bounded b) {   \
    const double x = b.v;            \
    return Bounded(function);        \
  }                                  \
  Symbolic name(const Symbolic& x);
KS_STEP_FUNCTIONS(KS_DECLARE)
#undef KS_DECLARE

template <Machine T>
inline T Pow(T x, T y) {
  return std::pow(x, y);
}
inline Bounded Pow(Bounded x, Bounded y) {
  const double value = std::pow(x.v, y.v);
  const double slope_x = x.v == 0 ? 0 : value * y.v / x.v;
  const double slope_y = x.v > 0 ? value * std::log(x.v) : 0;
  return {value, std::fabs(slope_x) * x.m + std::fabs(slope_y) * y.m + std::fabs(value)};
}
Symbolic Pow(const Symbolic& x, const Symbolic& y);

template <Machine T>
inline T Atan2(T y, T x) {
  return std::atan2(y, x);
}
inline Bounded Atan2(Bounded y, Bounded x) {
  const double r2 = x.v * x.v + y.v * y.v;
  const double value = std::atan2(y.v, x.v);
  return {value, (std::fabs(x.v) * y.m + std::fabs(y.v) * x.m) / r2 + std::fabs(value)};
}
Symbolic Atan2(const Symbolic& y, const Symbolic& x);

template <Machine T>
inline T Abs(T x) {
  return std::fabs(x);
}
inline Bounded Abs(Bounded x) { return {std::fabs(x.v), x.m}; }
Symbolic Abs(const Symbolic& x);

template <Machine T>
inline double Float(T x) {
  return x;
}
inline double Float(Bounded x) { return x.v; }
inline double Float(const Symbolic& x) { return x.v; }

// Decisions give 0 or 1, with the taint of a near tie where T has one.
template <typename T>
inline T MakeBool(bool value) {
  return T(value ? 1 : 0);
}
template <>
inline Symbolic MakeBool<Symbolic>(bool value) {
  return SymbolicInteger(value ? 1 : 0);
}

#define KS_DECLARE(name, op)                                                        \
  template <Machine T>                                                              \
  inline T name(T x, T y) {                                                         \
    return x op y ? T(1) : T(0);                                                    \
  }                                                                                 \
  inline Bounded name(Bounded x, Bounded y) { return Bounded(x.v op y.v ? 1 : 0); } \
  Symbolic name(const Symbolic& x, const Symbolic& y);
KS_DECLARE(Less, <)
KS_DECLARE(LessEqual, <=)
KS_DECLARE(Equal, ==)
#undef KS_DECLARE

// condition ? x : y.
template <Machine T>
inline T Select(T condition, T x, T y) {
  return condition != T(0) ? x : y;
}
inline Bounded Select(Bounded condition, Bounded x, Bounded y) { return condition.v != 0 ? x : y; }
inline Symbolic Select(const Symbolic& condition, const Symbolic& x, const Symbolic& y) {
  Symbolic result = condition.v != 0 ? x : y;
  result.s.flags |= condition.s.history();
  return result;
}

// NaN wins, as in PyTorch.
template <typename T>
inline T Maximum(const T& x, const T& y) {
  if (std::isnan(Float(x))) return x;
  if (std::isnan(Float(y))) return y;
  return Select(Less(x, y), y, x);
}
template <typename T>
inline T Minimum(const T& x, const T& y) {
  if (std::isnan(Float(x))) return x;
  if (std::isnan(Float(y))) return y;
  return Select(Less(y, x), y, x);
}

// A constant of the program, written in `precision`.
template <typename T>
inline T Constant(double value, Precision precision) {
  static_cast<void>(precision);
  return T(value);
}
template <>
inline Symbolic Constant<Symbolic>(double value, Precision precision) {
  return SymbolicConstant(value, precision);
}
// A number that is exactly what it says: an integer, 0.5.
template <typename T>
inline T Number(double value) {
  return T(value);
}
template <>
inline Symbolic Number<Symbolic>(double value) {
  return SymbolicInteger(value);
}

}  // namespace kernelsmith
