#include "field/functions.h"

#include "support/check.h"

namespace kernelsmith {
namespace {

const Algebra& A() { return Algebra::Current(); }

bool VanishesUnderExp(double x) { return x < kExpIsZeroBelow; }

Symbolic MaskedZero(const Symbolic& x) {
  Symbolic zero = SymbolicInteger(0);
  zero.s.flags |= x.s.history() | kMaskedExp;
  return zero;
}

// A decision follows the floats, so of what took part in the operands only an earlier near tie
// matters.
Symbolic Tainted(Symbolic x, bool near_tie, uint32_t history) {
  x.s.flags |= (history & kNearTie) | (near_tie ? uint32_t{kNearTie} : 0);
  return x;
}

bool IsConstant(const Symbolic& x) { return x.s.has(kRational); }

}  // namespace

Symbolic MakeSymbolic(Bounded value, const Shadow& shadow) {
  Symbolic x{.v = value.v, .s = shadow, .m = static_cast<float>(value.m)};
  if (!std::isfinite(value.v)) x.s = Shadow{.flags = shadow.history()};
  return x;
}

Symbolic SymbolicConstant(double value, Precision precision) {
  if (!std::isfinite(value)) return MakeSymbolic(Bounded(value), {});
  return MakeSymbolic(Bounded(value), A().Constant(value, precision));
}

Symbolic SymbolicInteger(double value) {
  if (!std::isfinite(value)) return MakeSymbolic(Bounded(value), {});
  return MakeSymbolic(Bounded(value), A().Exact(value));
}

Symbolic SymbolicInput(double value, uint64_t n) {
  return MakeSymbolic(Bounded(value), A().Input(n));
}

Symbolic operator+(const Symbolic& x, const Symbolic& y) {
  return MakeSymbolic(x.bounded() + y.bounded(), A().Add(x.s, y.s));
}
Symbolic operator-(const Symbolic& x, const Symbolic& y) {
  return MakeSymbolic(x.bounded() - y.bounded(), A().Sub(x.s, y.s));
}
Symbolic operator*(const Symbolic& x, const Symbolic& y) {
  return MakeSymbolic(x.bounded() * y.bounded(), A().Mul(x.s, y.s));
}
Symbolic operator/(const Symbolic& x, const Symbolic& y) {
  return MakeSymbolic(x.bounded() / y.bounded(), A().Div(x.s, y.s));
}
Symbolic operator-(const Symbolic& x) { return MakeSymbolic(-x.bounded(), A().Neg(x.s)); }

Symbolic Exp(const Symbolic& x) {
  if (VanishesUnderExp(x.v)) return MaskedZero(x);
  return MakeSymbolic(Exp(x.bounded()), A().Exp(x.s));
}
Symbolic Exp2(const Symbolic& x) {
  if (VanishesUnderExp(x.v * 0.6931471805599453)) return MaskedZero(x);
  return MakeSymbolic(Exp2(x.bounded()), A().Exp2(x.s));
}
Symbolic Expm1(const Symbolic& x) {
  const Shadow e = VanishesUnderExp(x.v) ? MaskedZero(x).s : A().Exp(x.s);
  return MakeSymbolic(Expm1(x.bounded()), A().Sub(e, A().Rational(1)));
}
Symbolic Log(const Symbolic& x) { return MakeSymbolic(Log(x.bounded()), A().Log(x.s)); }
Symbolic Log2(const Symbolic& x) { return MakeSymbolic(Log2(x.bounded()), A().Log2(x.s)); }
Symbolic Log10(const Symbolic& x) { return MakeSymbolic(Log10(x.bounded()), A().Log10(x.s)); }
Symbolic Log1p(const Symbolic& x) {
  return MakeSymbolic(Log1p(x.bounded()), A().Log(A().Add(A().Rational(1), x.s)));
}
Symbolic Sqrt(const Symbolic& x) { return MakeSymbolic(Sqrt(x.bounded()), A().Sqrt(x.s)); }
Symbolic Rsqrt(const Symbolic& x) {
  return MakeSymbolic(Rsqrt(x.bounded()), A().Inverse(A().Sqrt(x.s)));
}
Symbolic Tanh(const Symbolic& x) { return MakeSymbolic(Tanh(x.bounded()), A().Tanh(x.s)); }
Symbolic Sigmoid(const Symbolic& x) {
  if (VanishesUnderExp(x.v)) return MaskedZero(x);
  return MakeSymbolic(Sigmoid(x.bounded()), A().Sigmoid(x.s));
}
Symbolic Sin(const Symbolic& x) {
  return MakeSymbolic(Sin(x.bounded()), A().Function(Opaque::kSin, x.s, -1));
}
Symbolic Cos(const Symbolic& x) {
  return MakeSymbolic(Cos(x.bounded()), A().Function(Opaque::kCos, x.s, 1));
}
Symbolic Tan(const Symbolic& x) {
  return MakeSymbolic(Tan(x.bounded()), A().Div(A().Function(Opaque::kSin, x.s, -1),
                                                A().Function(Opaque::kCos, x.s, 1)));
}
Symbolic Asin(const Symbolic& x) {
  return MakeSymbolic(Asin(x.bounded()), A().Function(Opaque::kAsin, x.s, -1));
}
Symbolic Acos(const Symbolic& x) {
  return MakeSymbolic(Acos(x.bounded()), A().Function(Opaque::kAcos, x.s));
}
Symbolic Atan(const Symbolic& x) {
  return MakeSymbolic(Atan(x.bounded()), A().Function(Opaque::kAtan, x.s, -1));
}
Symbolic Sinh(const Symbolic& x) {
  const Shadow e = A().Exp(x.s);
  return MakeSymbolic(Sinh(x.bounded()), A().Mul(A().Rational(1, 2), A().Sub(e, A().Inverse(e))));
}
Symbolic Cosh(const Symbolic& x) {
  const Shadow e = A().Exp(x.s);
  return MakeSymbolic(Cosh(x.bounded()), A().Mul(A().Rational(1, 2), A().Add(e, A().Inverse(e))));
}
Symbolic Asinh(const Symbolic& x) {
  const Shadow root = A().Sqrt(A().Add(A().Mul(x.s, x.s), A().Rational(1)));
  return MakeSymbolic(Asinh(x.bounded()), A().Log(A().Add(x.s, root)));
}
Symbolic Acosh(const Symbolic& x) {
  const Shadow root = A().Sqrt(A().Sub(A().Mul(x.s, x.s), A().Rational(1)));
  return MakeSymbolic(Acosh(x.bounded()), A().Log(A().Add(x.s, root)));
}
Symbolic Atanh(const Symbolic& x) {
  const Shadow one = A().Rational(1);
  const Shadow ratio = A().Div(A().Add(one, x.s), A().Sub(one, x.s));
  return MakeSymbolic(Atanh(x.bounded()), A().Mul(A().Rational(1, 2), A().Log(ratio)));
}
Symbolic Erf(const Symbolic& x) {
  if (x.s.IsZero()) return x;
  return MakeSymbolic(Erf(x.bounded()), A().Function(Opaque::kErf, x.s, -1));
}
Symbolic Erfc(const Symbolic& x) {
  return MakeSymbolic(Erfc(x.bounded()),
                      A().Sub(A().Rational(1), A().Function(Opaque::kErf, x.s, -1)));
}
Symbolic Lgamma(const Symbolic& x) {
  return MakeSymbolic(Lgamma(x.bounded()), A().Function(Opaque::kLgamma, x.s));
}
Symbolic Pow(const Symbolic& x, const Symbolic& y) {
  return MakeSymbolic(Pow(x.bounded(), y.bounded()), A().Pow(x.s, y.s));
}
Symbolic Atan2(const Symbolic& y, const Symbolic& x) {
  return MakeSymbolic(Atan2(y.bounded(), x.bounded()), A().Function(Opaque::kAtan2, y.s, x.s));
}

bool DecideLess(const Symbolic& x, const Symbolic& y, bool* near_tie) {
  *near_tie = false;
  // Not both finite: no rounding turns the decision.
  if (!std::isfinite(x.v) || !std::isfinite(y.v)) return x.v < y.v;
  if (IsConstant(x) && IsConstant(y)) return x.v < y.v;
  const double width = A().tie_width() * (static_cast<double>(x.m) + y.m);
  if (std::fabs(x.v - y.v) <= width) {
    if (A().Same(x.s, y.s)) return false;
    *near_tie = true;
  }
  return x.v < y.v;
}

bool DecideEqual(const Symbolic& x, const Symbolic& y, bool* near_tie) {
  *near_tie = false;
  if (!std::isfinite(x.v) || !std::isfinite(y.v)) return x.v == y.v;
  if (IsConstant(x) && IsConstant(y)) return x.v == y.v;
  const double width = A().tie_width() * (static_cast<double>(x.m) + y.m);
  if (std::fabs(x.v - y.v) <= width) {
    if (A().Same(x.s, y.s)) return true;
    *near_tie = true;
  }
  return x.v == y.v;
}

Symbolic Less(const Symbolic& x, const Symbolic& y) {
  bool near_tie = false;
  const bool less = DecideLess(x, y, &near_tie);
  return Tainted(MakeBool<Symbolic>(less), near_tie, x.s.history() | y.s.history());
}
Symbolic LessEqual(const Symbolic& x, const Symbolic& y) {
  bool near_tie = false;
  if (std::isnan(x.v) || std::isnan(y.v)) return MakeBool<Symbolic>(false);
  const bool greater = DecideLess(y, x, &near_tie);
  return Tainted(MakeBool<Symbolic>(!greater), near_tie, x.s.history() | y.s.history());
}
Symbolic Equal(const Symbolic& x, const Symbolic& y) {
  bool near_tie = false;
  const bool equal = DecideEqual(x, y, &near_tie);
  return Tainted(MakeBool<Symbolic>(equal), near_tie, x.s.history() | y.s.history());
}

Symbolic Abs(const Symbolic& x) {
  bool near_tie = false;
  const bool negative = DecideLess(x, SymbolicInteger(0), &near_tie);
  // At an exact zero both signs are right.
  return Tainted(negative ? -x : x, near_tie, 0);
}

namespace {

// The result is an integer that the float decides; close to a jump, rounding does.
Symbolic Step(const Symbolic& x, double result, double distance_to_jump) {
  Symbolic step = SymbolicInteger(result);
  const bool near_tie = !IsConstant(x) && std::isfinite(x.v) &&
                        distance_to_jump <= A().tie_width() * static_cast<double>(x.m);
  return Tainted(step, near_tie, x.s.history());
}

double DistanceToInteger(double x) { return std::fabs(x - std::nearbyint(x)); }

}  // namespace

Symbolic Floor(const Symbolic& x) { return Step(x, std::floor(x.v), DistanceToInteger(x.v)); }
Symbolic Ceil(const Symbolic& x) { return Step(x, std::ceil(x.v), DistanceToInteger(x.v)); }
Symbolic Trunc(const Symbolic& x) {
  // Truncation does not jump at 0.
  const double distance = std::fabs(x.v) < 0.5 ? 1 : DistanceToInteger(x.v);
  return Step(x, std::trunc(x.v), distance);
}
Symbolic Round(const Symbolic& x) {
  return Step(x, std::nearbyint(x.v), std::fabs(DistanceToInteger(x.v) - 0.5));
}
Symbolic Sign(const Symbolic& x) {
  bool near_tie = false;
  DecideLess(x, SymbolicInteger(0), &near_tie);
  return Tainted(SymbolicInteger((x.v > 0) - (x.v < 0)), near_tie, x.s.history());
}

}  // namespace kernelsmith
