// A double and the scale of its rounding error: m is what the expression would be if nothing
// cancelled. A computation in a format with unit roundoff eps is then off by about c·eps·m, with a
// small c that grows with the length of its sums.
#pragma once

#include <cmath>

namespace kernelsmith {

struct Bounded {
  double v = 0;
  double m = 0;

  Bounded() = default;
  // A leaf: its own size is its scale.
  explicit Bounded(double value) : v(value), m(std::fabs(value)) {}
  Bounded(double value, double scale) : v(value), m(scale) {}
};

inline Bounded operator+(Bounded a, Bounded b) { return {a.v + b.v, a.m + b.m}; }
inline Bounded operator-(Bounded a, Bounded b) { return {a.v - b.v, a.m + b.m}; }
inline Bounded operator-(Bounded a) { return {-a.v, a.m}; }
inline Bounded operator*(Bounded a, Bounded b) {
  return {a.v * b.v, std::fabs(a.v) * b.m + std::fabs(b.v) * a.m};
}
inline Bounded operator/(Bounded a, Bounded b) {
  const double quotient = a.v / b.v;
  return {quotient, (a.m + std::fabs(quotient) * b.m) / std::fabs(b.v)};
}

// f(x) with the derivative's size there: the argument's error grows by it, the result is rounded.
inline Bounded BoundedFunction(double value, double slope, Bounded x) {
  const double from_argument = x.m == 0 ? 0 : std::fabs(slope) * x.m;
  return {value, from_argument + std::fabs(value)};
}

}  // namespace kernelsmith
