#include "field/symbolic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "support/check.h"

namespace kernelsmith {
namespace {

thread_local const Algebra* current_algebra = nullptr;

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Kinds of hashes, so that no two uses share a stream.
enum HashKind : uint64_t {
  kHashInput = 1,
  kHashSymbol = 2,
  kHashOpaqueLog = 3,
  kHashArgumentP = 4,
  kHashArgumentQ = 5,
  kHashFunction = 1 << 16,
};

constexpr int64_t kMaxNum = std::numeric_limits<int32_t>::max();
constexpr uint64_t kMaxDen = std::numeric_limits<uint32_t>::max();

// Two values in [0, modulus) are canonical up to sign by the smaller of x and −x.
bool IsUpperHalf(uint64_t x, uint64_t modulus) { return x > modulus / 2; }

void SetRational(Shadow* s, int64_t num, int64_t den) {
  if (den < 0) {
    num = -num;
    den = -den;
  }
  const int64_t divisor = std::gcd(num, den);
  if (divisor > 1) {
    num /= divisor;
    den /= divisor;
  }
  if (num < -kMaxNum || num > kMaxNum || den > kMaxNum) return;
  s->num = static_cast<int32_t>(num);
  s->den = static_cast<uint32_t>(den);
  s->flags |= kRational;
}

}  // namespace

int SignificandBits(Precision precision) {
  switch (precision) {
    case Precision::kFloat16:
    case Precision::kTensorFloat32:
      return 11;
    case Precision::kBfloat16:
      return 8;
    case Precision::kFloat32:
      return 24;
    case Precision::kFloat64:
      return 53;
  }
  KS_UNREACHABLE();
}

Algebra::Algebra(uint64_t seed, Precision decisions) : seed_(Mix(seed)) {
  const auto draw = [&](uint64_t n, uint64_t modulus) {
    return Hash(kHashSymbol, n) % (modulus - 2) + 2;
  };
  // A square other than 1 has order q, which is prime.
  omega_ = FieldP::Mul(draw(0, kP), draw(0, kP));
  uint64_t base = omega_;
  for (auto& digit : omega_table_) {
    digit[0] = 1;
    for (size_t i = 1; i < digit.size(); ++i) digit[i] = FieldP::Mul(digit[i - 1], base);
    base = FieldP::Mul(digit.back(), base);
  }
  log2e_p_ = draw(1, kP);
  log2e_q_ = draw(2, kQ);
  // Squares, so that sqrt(pi) squares back to pi and is what Sqrt(pi) gives.
  root_pi_p_ = FieldP::Mul(draw(3, kP), draw(3, kP));
  root_pi_q_ = FieldQ::Mul(draw(4, kQ), draw(4, kQ));
  log10e_p_ = draw(5, kP);
  log10e_q_ = draw(6, kQ);
  euler_p_ = OmegaPower(1);
  euler_q_ = draw(7, kQ);
  // A serial sum of a few hundred terms stays below 8 units in the last place of its scale.
  tie_width_ = 8 * std::ldexp(1.0, -SignificandBits(decisions));
}

const Algebra& Algebra::Current() {
  KS_CHECK(current_algebra != nullptr);
  return *current_algebra;
}
const Algebra* Algebra::CurrentOrNull() { return current_algebra; }

AlgebraScope::AlgebraScope(const Algebra* algebra) : before_(current_algebra) {
  current_algebra = algebra;
}
AlgebraScope::~AlgebraScope() { current_algebra = before_; }

uint64_t Algebra::Hash(uint64_t kind, uint64_t x, uint64_t y) const {
  return Mix(Mix(Mix(seed_ ^ kind) ^ x) ^ y);
}

Shadow Algebra::FromHash(uint64_t kind, uint64_t x, uint64_t y, uint32_t history) const {
  const uint64_t h = Hash(kind, x, y);
  return {.p = Mix(h ^ 1) % kP, .q = Mix(h ^ 2) % kQ, .flags = kHasP | kHasQ | history};
}

uint64_t Algebra::OmegaPower(uint64_t exponent) const {
  uint64_t power = 1;
  for (const auto& digit : omega_table_) {
    power = FieldP::Mul(power, digit[exponent & 0xff]);
    exponent >>= 8;
  }
  return power;
}

Shadow Algebra::Input(uint64_t n) const {
  return zeros_.contains(n) ? Rational(0) : FromHash(kHashInput, n, 0, 0);
}

Shadow Algebra::Rational(int64_t num, int64_t den) const {
  KS_CHECK(den != 0);
  Shadow s{.p = FieldP::FromInt(num), .q = FieldQ::FromInt(num), .flags = kHasP | kHasQ};
  if (den != 1) {
    s.p = FieldP::Mul(s.p, FieldP::Inverse(FieldP::FromInt(den)));
    s.q = FieldQ::Mul(s.q, FieldQ::Inverse(FieldQ::FromInt(den)));
  }
  if (num != std::numeric_limits<int64_t>::min() && den != std::numeric_limits<int64_t>::min()) {
    SetRational(&s, num, den);
  }
  return s;
}

Shadow Algebra::Exact(double value) const {
  KS_CHECK(std::isfinite(value));
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  int64_t significand = static_cast<int64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  while (significand != 0 && significand % 2 == 0) {
    significand /= 2;
    ++exponent;
  }
  if (significand == 0) return Rational(0);
  Shadow s = Rational(significand);
  const uint64_t steps = static_cast<uint64_t>(std::abs(exponent));
  const uint64_t two_p = exponent < 0 ? FieldP::Inverse(2) : 2;
  const uint64_t two_q = exponent < 0 ? FieldQ::Inverse(2) : 2;
  s.p = FieldP::Mul(s.p, FieldP::Pow(two_p, steps));
  s.q = FieldQ::Mul(s.q, FieldQ::Pow(two_q, steps));
  const bool was_rational = s.has(kRational);
  s.flags &= ~kRational;
  if (was_rational && steps < 31) {
    const int64_t power = int64_t{1} << steps;
    if (exponent < 0) {
      SetRational(&s, significand, power);
    } else if (std::abs(significand) <= kMaxNum / power) {
      SetRational(&s, significand * power, 1);
    }
  }
  return s;
}

Shadow Algebra::MakeLog(uint64_t antilog, uint64_t den, uint32_t history) const {
  if (antilog == 1) {
    Shadow zero = Rational(0);
    zero.flags |= history;
    return zero;
  }
  return {.a = antilog, .den = static_cast<uint32_t>(den), .flags = kHasLog | history};
}

Shadow Algebra::WithoutLog(const Shadow& x) const {
  if (!x.has(kHasLog)) return x;
  // log(a) = −log(1/a), and the sign of a does not count (log of a negative is no real number).
  const auto canonical = [](uint64_t y) { return IsUpperHalf(y, kP) ? kP - y : y; };
  const uint64_t direct = canonical(x.a);
  const uint64_t inverse = canonical(FieldP::Inverse(x.a));
  Shadow s = FromHash(kHashOpaqueLog, std::min(direct, inverse), 0, x.history() | kOpaqueLog);
  if (inverse < direct) s = Neg(s);
  return x.den == 1 ? s : Mul(s, Rational(1, x.den));
}

Shadow Algebra::Neg(const Shadow& x) const {
  if (x.has(kHasLog)) return MakeLog(FieldP::Inverse(x.a), x.den, x.history());
  Shadow s = x;
  s.p = FieldP::Neg(x.p);
  s.q = FieldQ::Neg(x.q);
  s.num = -x.num;
  return s;
}

Shadow Algebra::Add(const Shadow& x, const Shadow& y) const {
  const uint32_t history = x.history() | y.history();
  if (x.has(kHasLog) || y.has(kHasLog)) {
    const Shadow& log = x.has(kHasLog) ? x : y;
    const Shadow& other = x.has(kHasLog) ? y : x;
    if (other.IsZero()) {
      Shadow s = log;
      s.flags |= history;
      return s;
    }
    if (other.has(kHasLog)) {
      const uint64_t common = std::lcm(uint64_t{log.den}, uint64_t{other.den});
      if (common <= kMaxDen) {
        return MakeLog(FieldP::Mul(FieldP::Pow(log.a, common / log.den),
                                   FieldP::Pow(other.a, common / other.den)),
                       common, history);
      }
    } else if (other.has(kHasQ)) {
      // (1/d)·log(a) + x = (1/d)·log(a·ω^(d·x))
      return MakeLog(FieldP::Mul(log.a, OmegaPower(FieldQ::Mul(other.q, log.den))), log.den,
                     history);
    }
    return Add(WithoutLog(x), WithoutLog(y));
  }
  Shadow s{.p = FieldP::Add(x.p, y.p),
           .q = FieldQ::Add(x.q, y.q),
           .flags = (x.flags & y.flags & (kHasP | kHasQ)) | history};
  if (x.has(kRational) && y.has(kRational)) {
    const __int128 num =
        static_cast<__int128>(x.num) * y.den + static_cast<__int128>(y.num) * x.den;
    const __int128 den = static_cast<__int128>(x.den) * y.den;
    if (num < (__int128{1} << 62) && num > -(__int128{1} << 62) && den < (__int128{1} << 62)) {
      SetRational(&s, static_cast<int64_t>(num), static_cast<int64_t>(den));
    }
  }
  return s;
}

Shadow Algebra::Mul(const Shadow& x, const Shadow& y) const {
  // 0 times anything is 0, also where the other has no parts in common with it.
  if (x.IsZero()) return x;
  if (y.IsZero()) return y;
  const uint32_t history = x.history() | y.history();
  if (x.has(kHasLog) || y.has(kHasLog)) {
    const Shadow& log = x.has(kHasLog) ? x : y;
    const Shadow& other = x.has(kHasLog) ? y : x;
    if (other.has(kRational)) {
      const uint64_t divisor =
          std::gcd(static_cast<uint64_t>(std::abs(int64_t{other.num})), uint64_t{log.den});
      const uint64_t den = log.den / divisor * other.den;
      const int64_t num = other.num / static_cast<int64_t>(divisor);
      if (den <= kMaxDen) {
        const uint64_t base = num < 0 ? FieldP::Inverse(log.a) : log.a;
        return MakeLog(FieldP::Pow(base, static_cast<uint64_t>(std::abs(num))), den, history);
      }
    } else if (other.has(kHasQ)) {
      // c·log(a) = log(a^c). The exponent lives mod q, so a must lie in the subgroup of order q:
      // a² does, and log(a) = log(a²)/2.
      const uint64_t half = FieldQ::Mul(other.q, FieldQ::Inverse(2));
      const uint32_t sign = FieldP::IsSquare(log.a) ? 0 : kNonResidueP;
      return MakeLog(FieldP::Pow(FieldP::Mul(log.a, log.a), half), log.den, history | sign);
    }
    return Mul(WithoutLog(x), WithoutLog(y));
  }
  Shadow s{.p = FieldP::Mul(x.p, y.p),
           .q = FieldQ::Mul(x.q, y.q),
           .flags = (x.flags & y.flags & (kHasP | kHasQ)) | history};
  if (x.has(kRational) && y.has(kRational)) {
    SetRational(&s, int64_t{x.num} * y.num, static_cast<int64_t>(uint64_t{x.den} * y.den));
  }
  return s;
}

Shadow Algebra::Inverse(const Shadow& argument) const {
  const Shadow x = WithoutLog(argument);
  Shadow s{.flags = x.history()};
  if (x.has(kHasP) && x.p != 0) {
    s.p = FieldP::Inverse(x.p);
    s.flags |= kHasP;
  }
  if (x.has(kHasQ) && x.q != 0) {
    s.q = FieldQ::Inverse(x.q);
    s.flags |= kHasQ;
  }
  if (x.has(kRational) && x.num != 0) SetRational(&s, x.den, x.num);
  return s;
}

Shadow Algebra::Div(const Shadow& x, const Shadow& y) const {
  if (x.IsZero()) return x;
  return Mul(x, Inverse(y));
}

uint64_t Algebra::PowerP(uint64_t x, int64_t num, uint64_t den, uint32_t* flags) const {
  // The exponent mod 2q by its two residues: num/den mod q, and a parity. An odd root is unique; an
  // even one is taken to be the square among the two, which makes the map multiplicative.
  const uint64_t mod_q = FieldQ::Mul(FieldQ::FromInt(num), FieldQ::Inverse(den % kQ));
  const bool even_root = den % 2 == 0;
  const uint64_t parity = even_root ? 0 : static_cast<uint64_t>(num & 1);
  const uint64_t exponent = mod_q % 2 == parity ? mod_q : mod_q + kQ;
  if (even_root && !FieldP::IsSquare(x)) *flags |= kNonResidueP;
  return FieldP::Pow(x, exponent);
}

Shadow Algebra::Exp(const Shadow& x) const {
  if (x.IsZero()) {
    Shadow one = Rational(1);
    one.flags |= x.history();
    return one;
  }
  if (x.has(kHasLog)) {
    Shadow s{.flags = kHasP | kTranscendental | x.history()};
    s.p = PowerP(x.a, 1, x.den, &s.flags);
    return s;
  }
  if (x.has(kHasQ)) {
    return {.p = OmegaPower(x.q), .flags = kHasP | kTranscendental | x.history()};
  }
  return Function(Opaque::kExp, x);
}

Shadow Algebra::Exp2(const Shadow& x) const {
  if (x.has(kRational) && x.den == 1 && std::abs(int64_t{x.num}) < 4096) {
    Shadow s = Exact(std::ldexp(1.0, std::clamp(x.num, -1000, 1000)));
    s.flags |= x.history();
    return s;
  }
  const Shadow ln2{
      .p = FieldP::Inverse(log2e_p_), .q = FieldQ::Inverse(log2e_q_), .flags = kHasP | kHasQ};
  return Exp(Mul(x, ln2));
}

Shadow Algebra::Log(const Shadow& argument) const {
  const Shadow x = WithoutLog(argument);
  if (x.has(kHasP) && x.p != 0) return MakeLog(x.p, 1, x.history() | kTranscendental);
  return Function(Opaque::kLog, x);
}

Shadow Algebra::Log2(const Shadow& x) const {
  const Shadow log2e{.p = log2e_p_, .q = log2e_q_, .flags = kHasP | kHasQ};
  return Mul(Log(x), log2e);
}

Shadow Algebra::Log10(const Shadow& x) const {
  const Shadow log10e{.p = log10e_p_, .q = log10e_q_, .flags = kHasP | kHasQ};
  return Mul(Log(x), log10e);
}

Shadow Algebra::SqrtOfRational(int64_t num, int64_t den) const {
  // sqrt(n/d) = k·sqrt(m)/d with n·d = k²·m and m without square factors, as the recogniser of
  // constants writes it too: both then have the same parts.
  int64_t outside = 1;
  int64_t inside = num * den;
  for (int64_t f = 2; f <= 4096 && f * f <= inside; ++f) {
    while (inside % (f * f) == 0) {
      inside /= f * f;
      outside *= f;
    }
  }
  const auto root = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(inside))));
  if (root * root == inside) {
    outside *= root;
    inside = 1;
  }
  Shadow s = Rational(outside, den);
  if (inside == 1) return s;
  const Shadow radicand = Rational(inside);
  s.p = FieldP::Mul(s.p, FieldP::Sqrt(radicand.p));
  s.q = FieldQ::Mul(s.q, FieldQ::Sqrt(radicand.q));
  s.flags &= ~kRational;
  if (!FieldP::IsSquare(radicand.p)) s.flags |= kNonResidueP;
  if (!FieldQ::IsSquare(radicand.q)) s.flags |= kNonResidueQ;
  return s;
}

Shadow Algebra::Sqrt(const Shadow& argument) const {
  const Shadow x = WithoutLog(argument);
  if (x.has(kRational) && x.num >= 0) {
    Shadow s = x.num == 0 ? x : SqrtOfRational(x.num, x.den);
    s.flags |= x.history();
    return s;
  }
  Shadow s{.flags = x.history() | kTranscendental | (x.flags & (kHasP | kHasQ))};
  if (x.has(kHasP)) {
    s.p = FieldP::Sqrt(x.p);
    if (FieldP::Mul(s.p, s.p) != x.p) s.flags |= kNonResidueP;
  }
  if (x.has(kHasQ)) {
    s.q = FieldQ::Sqrt(x.q);
    if (FieldQ::Mul(s.q, s.q) != x.q) s.flags |= kNonResidueQ;
  }
  return s;
}

Shadow Algebra::Pow(const Shadow& argument, const Shadow& y) const {
  if (!y.has(kRational)) {
    if (!y.has(kHasParts)) return {.flags = argument.history() | y.history()};
    return Exp(Mul(y, Log(argument)));
  }
  if (y.num == 0) return Rational(1);
  if (argument.has(kHasLog) && y.num == 1 && y.den == 1) return argument;
  const Shadow x = WithoutLog(argument);
  const bool negative = y.num < 0;
  const auto exponent = static_cast<uint64_t>(std::abs(int64_t{y.num}));
  if (y.den <= 2) {
    const Shadow base = y.den == 2 ? Sqrt(x) : x;
    Shadow s{.p = FieldP::Pow(base.p, exponent),
             .q = FieldQ::Pow(base.q, exponent),
             .flags = (base.flags & (kHasP | kHasQ)) | base.history() | y.history()};
    if (base.has(kRational) && exponent <= 64) {
      Shadow product = Rational(1);
      for (uint64_t i = 0; i < exponent; ++i) product = Mul(product, base);
      if (product.has(kRational)) SetRational(&s, product.num, product.den);
    }
    return negative ? Inverse(s) : s;
  }
  Shadow s{.flags = x.history() | y.history() | kTranscendental};
  if (!x.has(kHasP)) return s;
  s.p = PowerP(x.p, y.num, y.den, &s.flags);
  s.flags |= kHasP;
  return s;
}

Shadow Algebra::Sigmoid(const Shadow& x) const { return Inverse(Add(Rational(1), Exp(Neg(x)))); }

Shadow Algebra::Tanh(const Shadow& x) const {
  const Shadow e = Exp(Add(x, x));
  return Div(Sub(e, Rational(1)), Add(e, Rational(1)));
}

Shadow Algebra::Function(Opaque function, const Shadow& argument, int parity) const {
  const Shadow x = WithoutLog(argument);
  const uint32_t history = x.history() | kUninterpreted;
  if (!x.has(kHasP | kHasQ)) return {.flags = history};
  const uint64_t modulus = x.has(kHasP) ? kP : kQ;
  uint64_t part = x.has(kHasP) ? x.p : x.q;
  const bool mirrored = parity != 0 && IsUpperHalf(part, modulus);
  if (mirrored) part = modulus - part;
  const uint64_t kind = kHashFunction + static_cast<uint64_t>(function);
  const Shadow s = FromHash(kind, x.has(kHasP) ? kHashArgumentP : kHashArgumentQ, part, history);
  return mirrored && parity < 0 ? Neg(s) : s;
}

Shadow Algebra::Function(Opaque function, const Shadow& first, const Shadow& second) const {
  const Shadow x = WithoutLog(first);
  const Shadow y = WithoutLog(second);
  const uint32_t history = x.history() | y.history() | kUninterpreted;
  if (!x.has(kHasP | kHasQ) || !y.has(kHasP | kHasQ)) return {.flags = history};
  const auto part = [&](const Shadow& s) {
    return s.has(kHasP) ? Hash(kHashArgumentP, s.p) : Hash(kHashArgumentQ, s.q);
  };
  return FromHash(kHashFunction + static_cast<uint64_t>(function), part(x), part(y), history);
}

namespace {

// The antilog of x to the power `scale`, for a value that has one: a logarithm, or a value with a
// q-part.
bool Antilog(const Algebra& algebra, const Shadow& x, uint64_t scale, uint64_t* antilog) {
  if (x.has(kHasLog)) {
    *antilog = FieldP::Pow(x.a, scale / x.den);
    return true;
  }
  if (!x.has(kHasQ)) return false;
  *antilog = algebra.OmegaPower(FieldQ::Mul(x.q, scale % kQ));
  return true;
}

}  // namespace

bool Algebra::Same(const Shadow& x, const Shadow& y) const {
  if (x.has(kHasLog) || y.has(kHasLog)) {
    const uint64_t scale =
        std::lcm(x.has(kHasLog) ? uint64_t{x.den} : 1, y.has(kHasLog) ? uint64_t{y.den} : 1);
    uint64_t left = 0, right = 0;
    if (!Antilog(*this, x, scale, &left) || !Antilog(*this, y, scale, &right)) {
      return false;
    }
    return left == right || left == FieldP::Neg(right);
  }
  const uint32_t common = x.flags & y.flags & (kHasP | kHasQ);
  if (common == 0) return false;
  return (!(common & kHasP) || x.p == y.p) && (!(common & kHasQ) || x.q == y.q);
}

Comparison CompareValues(const Symbolic& x, const Symbolic& y) {
  const Algebra& algebra = Algebra::Current();
  const uint32_t taints = (x.s.flags | y.s.flags) & kTaints;
  if (!std::isfinite(x.v) || !std::isfinite(y.v)) {
    if (x.v == y.v || (std::isnan(x.v) && std::isnan(y.v))) return {Equality::kEqual, 0};
    if (taints & kNearTie) return {Equality::kInconclusive, taints};
    return {Equality::kDifferent, 0};
  }
  Shadow left = x.s;
  Shadow right = y.s;
  if (left.has(kHasLog) || right.has(kHasLog)) {
    if (algebra.Same(left, right)) return {Equality::kEqual, 0};
    const bool comparable =
        (left.has(kHasLog) || left.has(kHasQ)) && (right.has(kHasLog) || right.has(kHasQ));
    if (comparable) {
      return {taints ? Equality::kInconclusive : Equality::kDifferent, taints};
    }
    left = algebra.WithoutLog(left);
    right = algebra.WithoutLog(right);
  }
  const uint32_t all = (left.flags | right.flags) & kTaints;
  bool equal = false;
  uint32_t excuse = 0;
  const auto compare_part = [&](uint32_t part, uint64_t a, uint64_t b, uint32_t foreign_taint) {
    if (!(left.flags & right.flags & part)) return true;
    if (a == b) {
      equal = true;
      return true;
    }
    excuse |= all & ~foreign_taint;
    return (all & ~foreign_taint) != 0;
  };
  // A root of a non-square spoils only its own field.
  if (!compare_part(kHasP, left.p, right.p, kNonResidueQ) ||
      !compare_part(kHasQ, left.q, right.q, kNonResidueP)) {
    return {Equality::kDifferent, 0};
  }
  if (equal) return {Equality::kEqual, 0};
  return {Equality::kInconclusive, excuse};
}

std::string DescribeReason(uint32_t reason) {
  std::string text;
  const auto add = [&](uint32_t flags, const char* words) {
    if (!(reason & flags)) return;
    if (!text.empty()) text += ", ";
    text += words;
  };
  add(kNonResidueP | kNonResidueQ, "a root of a non-square took part");
  add(kUnrecognised, "an unrecognised constant took part");
  add(kNearTie, "a near tie took part");
  add(kOpaqueLog, "a product with a logarithm took part");
  add(kBitTrick, "arithmetic on the bits of a float took part");
  return text.empty() ? "the values have no algebraic part in common" : text;
}

}  // namespace kernelsmith
