// Constants as simple numbers. A literal 0.3333333f, a host's 1.0f / n or 1 - 0.9f, an argument
// rsqrtf(d) * log2e: each is a rounding of a short exact expression, which is looked for here, the
// simplest first.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <optional>

#include "field/symbolic.h"
#include "support/check.h"

namespace kernelsmith {

namespace {

// The symbols a constant may contain. kLn10 is a logarithm, the others are elements of the fields.
enum class Symbol {
  kOne,
  kLog2E,
  kLn2,
  kPi,
  kInversePi,
  kRootPi,
  kInverseRootPi,
  kLn10,
  kLog10E,
  kLog10Of2,
  kE
};

struct SymbolRow {
  Symbol symbol;
  double value;
  double cost;  // in bits: how unlikely it is among constants
};

constexpr SymbolRow kSymbols[] = {
    {Symbol::kOne, 1, 0},
    {Symbol::kLog2E, std::numbers::log2e, 5},
    {Symbol::kLn2, std::numbers::ln2, 5},
    {Symbol::kPi, std::numbers::pi, 4},
    {Symbol::kInversePi, std::numbers::inv_pi, 5},
    {Symbol::kRootPi, 1.7724538509055160273, 6},
    {Symbol::kInverseRootPi, std::numbers::inv_sqrtpi, 5},
    {Symbol::kLn10, std::numbers::ln10, 8},
    {Symbol::kLog10E, std::numbers::log10e, 8},
    {Symbol::kLog10Of2, 0.30102999566398119521, 8},
    {Symbol::kE, std::numbers::e, 8},
};

struct Fraction {
  int64_t num = 0;
  int64_t den = 1;
};

// rational · sqrt(radicand) · symbol, or log(integer)
struct Form {
  Fraction rational;
  Fraction radicand{1, 1};
  bool fourth_root = false;  // the fourth root of the radicand: PyTorch scales queries and keys by
                             // sqrt(1/sqrt(width)) each
  Symbol symbol = Symbol::kOne;
  int64_t log_of = 0;    // not 0: the constant is rational · log(log_of)
  int power_of_ten = 0;  // the constant is rational · 10^power_of_ten
  double cost = 0;
  bool plain = false;  // a short decimal or 1/n: believed even where a chance hit is as long
};

constexpr double kLargest = 1e12;

// The fraction with the smallest denominator in [low, high], 0 < low: by continued fractions.
std::optional<Fraction> SimplestFraction(double low, double high) {
  int64_t n0 = 0, d0 = 1, n1 = 1, d1 = 0;
  for (int step = 0; step < 40; ++step) {
    if (!(low > 0) || low > kLargest) return std::nullopt;
    const double whole = std::floor(low);
    const bool last = whole == low || whole + 1 <= high;
    const auto digit = static_cast<int64_t>(whole == low ? whole : last ? whole + 1 : whole);
    const double num =
        static_cast<double>(digit) * static_cast<double>(n1) + static_cast<double>(n0);
    const double den =
        static_cast<double>(digit) * static_cast<double>(d1) + static_cast<double>(d0);
    if (num > kLargest || den > kLargest) return std::nullopt;
    const Fraction next{digit * n1 + n0, digit * d1 + d0};
    if (last) return next;
    n0 = n1;
    d0 = d1;
    n1 = next.num;
    d1 = next.den;
    const double rest_low = low - whole;
    const double rest_high = high - whole;
    low = 1 / rest_high;
    high = 1 / rest_low;
  }
  return std::nullopt;
}

int64_t OddPart(int64_t x) {
  while (x % 2 == 0 && x != 0) x /= 2;
  return x;
}

// Bits of information: powers of two are free, as they change no bit of a float's significand, and
// 1/n is likelier than other fractions.
double CostOf(Fraction f) {
  const double num = std::log2(static_cast<double>(OddPart(f.num)));
  const double den = std::log2(static_cast<double>(OddPart(f.den)));
  return f.num == 1 || f.den == 1 ? 0.8 * (num + den) : num + den;
}

// Of random float32 constants about one in 40 has a form of 15 bits within 2 ulp; a short decimal
// or 1/n may be longer.
constexpr int kChanceBits = 9;
constexpr double kPlainBits = 19;

// Searches one value at one precision.
class Searcher {
 public:
  Searcher(double value, int bits, double ulps) : value_(value) {
    int exponent = 0;
    std::frexp(value, &exponent);
    tolerance_ = ulps * std::ldexp(1.0, exponent - bits);
    limit_ = std::min(bits, 24) - kChanceBits;
  }

  void TrySymbol(const SymbolRow& row) {
    const double low = (value_ - tolerance_) / row.value;
    const double high = (value_ + tolerance_) / row.value;
    TryFraction(low, high, {.symbol = row.symbol, .cost = row.cost});
    // ln 10 is a logarithm, whose multiple by a root has no exact parts.
    if (row.symbol == Symbol::kLn10) return;
    if (const auto square = SimplestScaled(low * low, high * high)) {
      Offer({.rational = {1, 1},
             .radicand = *square,
             .symbol = row.symbol,
             .cost = row.cost + CostOf(*square) + 3});
    }
    if (row.symbol != Symbol::kOne) return;
    if (const auto fourth = SimplestScaled(low * low * low * low, high * high * high * high)) {
      Offer({.rational = {1, 1},
             .radicand = *fourth,
             .fourth_root = true,
             .cost = CostOf(*fourth) + 6});
    }
  }

  void TryDecimal(int max_digits) {
    for (int digits = 1; digits <= max_digits; ++digits) {
      char text[64];
      std::snprintf(text, sizeof text, "%.*e", digits - 1, value_);
      if (std::fabs(std::strtod(text, nullptr) - value_) > tolerance_) continue;
      int64_t significand = 0;
      const char* c = text;
      for (; *c != 'e'; ++c) {
        if (*c != '.') significand = significand * 10 + (*c - '0');
      }
      // The digits are what was chosen; the power of ten costs little.
      Offer({.rational = {significand, 1},
             .power_of_ten = std::atoi(c + 1) - (digits - 1),
             .cost = 3 * digits - 1.0,
             .plain = true});
      return;
    }
  }

  void TryLogarithm() {
    if (value_ > 20 || value_ < 1) return;
    const double n = std::round(std::exp(value_));
    if (n < 3 || std::fabs(std::log(n) - value_) > tolerance_) return;
    Offer({.rational = {1, 1}, .log_of = static_cast<int64_t>(n), .cost = 0.8 * std::log2(n) + 4});
  }

  const std::optional<Form>& best() const { return best_; }

 private:
  // Also looks at the significand alone, where 1/(3·2^20) is 4/3.
  std::optional<Fraction> SimplestScaled(double low, double high) const {
    std::optional<Fraction> best = SimplestFraction(low, high);
    int exponent = 0;
    std::frexp(low, &exponent);
    if (std::abs(exponent) > 40 || (exponent >= 0 && exponent <= 1)) return best;
    const double scale = std::ldexp(1.0, -exponent);
    if (std::optional<Fraction> f = SimplestFraction(low * scale, high * scale)) {
      for (; exponent > 0; --exponent) {
        if (f->den % 2 == 0)
          f->den /= 2;
        else
          f->num *= 2;
      }
      for (; exponent < 0; ++exponent) {
        if (f->num % 2 == 0)
          f->num /= 2;
        else
          f->den *= 2;
      }
      if (f->num < (int64_t{1} << 60) && f->den < (int64_t{1} << 60) &&
          (!best || CostOf(*f) < CostOf(*best))) {
        best = f;
      }
    }
    return best;
  }

  void TryFraction(double low, double high, Form form) {
    const std::optional<Fraction> f = SimplestScaled(low, high);
    if (!f) return;
    form.rational = *f;
    form.cost += CostOf(*f);
    form.plain = form.symbol == Symbol::kOne && OddPart(f->num) == 1 && f->den < (1 << 23);
    Offer(form);
  }

  // What is too long to be believed must not stand in the way of what is not.
  void Offer(const Form& form) {
    if (form.cost > (form.plain ? kPlainBits : limit_)) return;
    if (!best_ || form.cost < best_->cost) best_ = form;
  }

  double value_;
  double tolerance_;
  double limit_;  // the most bits of forms that are not plain
  std::optional<Form> best_;
};

std::optional<Form> Search(double value, int bits, double ulps, int max_digits) {
  Searcher searcher(value, bits, ulps);
  for (const SymbolRow& row : kSymbols) searcher.TrySymbol(row);
  searcher.TryDecimal(max_digits);
  searcher.TryLogarithm();
  return searcher.best();
}

}  // namespace

// Knows the algebra's symbols.
class ConstantRecogniser {
 public:
  static Shadow ToShadow(const Algebra& algebra, const Form& form) {
    if (form.log_of != 0) {
      return algebra.Mul(algebra.Rational(form.rational.num, form.rational.den),
                         algebra.Log(algebra.Rational(form.log_of)));
    }
    Shadow s = algebra.Rational(form.rational.num, form.rational.den);
    for (int left = std::abs(form.power_of_ten); left > 0; left -= 17) {
      int64_t power = 1;
      for (int i = 0; i < std::min(left, 17); ++i) power *= 10;
      s = form.power_of_ten > 0 ? algebra.Mul(s, algebra.Rational(power))
                                : algebra.Mul(s, algebra.Rational(1, power));
    }
    if (form.radicand.num != 1 || form.radicand.den != 1) {
      Shadow root = algebra.Sqrt(algebra.Rational(form.radicand.num, form.radicand.den));
      if (form.fourth_root) root = algebra.Sqrt(root);
      s = algebra.Mul(s, root);
    }
    return form.symbol == Symbol::kOne ? s : algebra.Mul(s, SymbolShadow(algebra, form.symbol));
  }

 private:
  static Shadow SymbolShadow(const Algebra& algebra, Symbol symbol) {
    const auto element = [](uint64_t p, uint64_t q) {
      return Shadow{.p = p, .q = q, .flags = kHasP | kHasQ};
    };
    const Shadow log2e = element(algebra.log2e_p_, algebra.log2e_q_);
    const Shadow root_pi = element(algebra.root_pi_p_, algebra.root_pi_q_);
    const Shadow log10e = element(algebra.log10e_p_, algebra.log10e_q_);
    switch (symbol) {
      case Symbol::kOne:
        return algebra.Rational(1);
      case Symbol::kLog2E:
        return log2e;
      case Symbol::kLn2:
        return algebra.Inverse(log2e);
      case Symbol::kPi:
        return algebra.Mul(root_pi, root_pi);
      case Symbol::kInversePi:
        return algebra.Inverse(algebra.Mul(root_pi, root_pi));
      case Symbol::kRootPi:
        return root_pi;
      case Symbol::kInverseRootPi:
        return algebra.Inverse(root_pi);
      case Symbol::kLn10:
        return algebra.Log(algebra.Rational(10));
      case Symbol::kLog10E:
        return log10e;
      case Symbol::kLog10Of2:
        return algebra.Div(log10e, log2e);
      case Symbol::kE:
        return element(algebra.euler_p_, algebra.euler_q_);
    }
    KS_UNREACHABLE();
  }
};

Shadow Algebra::Constant(double value, Precision precision) const {
  KS_CHECK(std::isfinite(value));
  const int bits = SignificandBits(precision);
  if (value == std::floor(value) && std::fabs(value) <= std::ldexp(1.0, std::min(bits, 31))) {
    return Rational(static_cast<int64_t>(value));
  }
  const auto recognise = [&](double size, int size_bits) -> std::optional<Shadow> {
    const int max_digits = std::min(size_bits * 3 / 10 - 1, 6);
    const std::optional<Form> form = Search(size, size_bits, 2, max_digits);
    std::optional<Shadow> s;
    if (form) s = ConstantRecogniser::ToShadow(*this, *form);
    if (size < 1) {
      // 1 − 0.9f is exact, but not close to 0.1: the rounding of 0.9 has grown.
      const std::optional<Form> rest = Search(1 - size, size_bits, 1, max_digits);
      if (rest && (!form || rest->cost + 3 < form->cost))
        s = Sub(Rational(1), ConstantRecogniser::ToShadow(*this, *rest));
    }
    if (s && value < 0) s = Neg(*s);
    return s;
  };
  const double single = static_cast<float>(std::fabs(value));
  const bool fits = std::isfinite(single) && single != 0;
  // A reference's doubles are floats in kernels, where a chance hit may be simpler than what the
  // double alone would be taken for; and many are known numbers cut at some digit (0.7978845608).
  if (bits > 24 && fits) {
    if (const auto s = recognise(single, 24)) return *s;
  }
  if (const auto s = recognise(std::fabs(value), bits)) return *s;
  // As the float32 next to it, which is what a kernel would write for a reference's double.
  Shadow s = Exact(fits ? std::copysign(single, value) : value);
  s.flags |= kUnrecognised;
  return s;
}

}  // namespace kernelsmith
