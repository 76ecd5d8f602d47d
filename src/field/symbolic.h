// The symbolic value: a float that carries, as a shadow, what it is as real algebra. Two
// computations with equal shadows on random inputs are equal apart from rounding, except with a
// tiny probability.
//
// A shadow has up to three parts, any of which may be missing:
//   p    an element of Z_p; + − × ÷ and roots act on it
//   q    an element of Z_q; likewise, and exp maps it into Z_p by ω^q, ω of order q
//   log  (1/den)·log(a) for an antilog a in Z_p: what log gives; antilogs multiply under +, and ω^x
//   is
//        the antilog of a value with q-part x, so exp(x − logsumexp) is exactly exp(x)/sum
// and remembers whether it is a rational constant. Where no rule gives a part, the value is an
// uninterpreted function: a hash of the argument. Nothing here knows about kernels or graphs: the
// oracle and the observer of kernels both carry these values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "field/bounded.h"
#include "field/prime.h"

namespace kernelsmith {

// What a shadow has, and what took part in it on the way.
enum ShadowFlags : uint32_t {
  kHasP = 1 << 0,
  kHasQ = 1 << 1,
  kHasLog = 1 << 2,
  kRational = 1 << 3,  // exactly num/den; has p and q as well
  kHasParts = kHasP | kHasQ | kHasLog,
  // A mismatch in which one of these took part says nothing.
  kNonResidueP = 1 << 4,   // the root of a non-square in Z_p
  kNonResidueQ = 1 << 5,   // likewise in Z_q
  kUnrecognised = 1 << 6,  // a constant that is no simple number
  kNearTie = 1 << 7,       // a decision that rounding could have turned
  kOpaqueLog = 1 << 8,     // a logarithm in a product, where log(ab) = log(a) + log(b) is lost
  kBitTrick = 1 << 11,     // bits of a float were calculated with in a way that no rule knows
  kTaints = kNonResidueP | kNonResidueQ | kUnrecognised | kNearTie | kOpaqueLog | kBitTrick,
  // Assumptions and facts that a proof names.
  kMaskedExp = 1 << 9,        // exp of something below kExpIsZeroBelow counted as 0
  kUninterpreted = 1 << 10,   // a function without a rule
  kTranscendental = 1 << 12,  // exp, log or a root: no bound on the degree holds
  kHistory = kTaints | kMaskedExp | kUninterpreted | kTranscendental,
};

struct Shadow {
  uint64_t p = 0;
  uint64_t q = 0;
  uint64_t a = 0;    // the antilog
  int32_t num = 0;   // the numerator of a rational constant
  uint32_t den = 1;  // the denominator of a rational constant, or of a logarithm
  uint32_t flags = 0;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
  uint32_t history() const { return flags & kHistory; }
  bool IsZero() const { return has(kRational) && num == 0; }
};

// exp of a smaller argument is 0: masks of −inf, −1e9 or −10000 all vanish, and no drawn input
// comes near.
inline constexpr double kExpIsZeroBelow = -80;

enum class Precision : uint8_t { kFloat16, kBfloat16, kFloat32, kFloat64, kTensorFloat32 };

// Bits of the significand, with the hidden one.
int SignificandBits(Precision precision);

// Names of functions without a rule. Others may pass any id from kFirstFree on.
enum class Opaque : uint32_t {
  kExp,
  kLog,
  kSqrt,
  kPow,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kErf,
  kAtan2,
  kLgamma,
  kDigamma,
  kErfinv,
  kBessel,
  kFirstFree = 1000,
};

// What is drawn anew for each run. Immutable afterwards; shared between threads.
class Algebra {
 public:
  explicit Algebra(uint64_t seed, Precision decisions = Precision::kFloat32);

  // The algebra that operators on this thread use. Set by AlgebraScope.
  static const Algebra& Current();
  static const Algebra* CurrentOrNull();

  // The n-th random input: independent parts in both fields; zero if it was fixed there.
  Shadow Input(uint64_t n) const;
  void FixAtZero(uint64_t n) { zeros_.insert(n); }  // before anything is computed
  Shadow Rational(int64_t num, int64_t den = 1) const;
  // A constant of the program, in the precision it is written in; rounding up to 2 ulp is undone
  // where a simple number lies there: rational · sqrt(integer) · (1, log2 e, ln 2, pi, ...), or
  // log(integer).
  Shadow Constant(double value, Precision precision) const;
  // value as the dyadic rational that it is.
  Shadow Exact(double value) const;

  Shadow Add(const Shadow& x, const Shadow& y) const;
  Shadow Neg(const Shadow& x) const;
  Shadow Sub(const Shadow& x, const Shadow& y) const { return Add(x, Neg(y)); }
  Shadow Mul(const Shadow& x, const Shadow& y) const;
  Shadow Inverse(const Shadow& x) const;
  Shadow Div(const Shadow& x, const Shadow& y) const;
  Shadow Exp(const Shadow& x) const;
  Shadow Exp2(const Shadow& x) const;
  Shadow Log(const Shadow& x) const;
  Shadow Log2(const Shadow& x) const;
  Shadow Log10(const Shadow& x) const;
  Shadow Sqrt(const Shadow& x) const;
  Shadow Pow(const Shadow& x, const Shadow& y) const;
  Shadow Sigmoid(const Shadow& x) const;
  Shadow Tanh(const Shadow& x) const;
  // sin, erf, ...: parity says f(−x) = f(x) (+1), = −f(x) (−1), or neither (0).
  Shadow Function(Opaque function, const Shadow& x, int parity = 0) const;
  Shadow Function(Opaque function, const Shadow& x, const Shadow& y) const;

  // Gives a logarithm p- and q-parts (and loses the law log(ab) = log(a) + log(b) from there on).
  Shadow WithoutLog(const Shadow& x) const;
  bool Same(const Shadow& x, const Shadow& y) const;

  // A decision between values closer than this times the sum of their scales could be turned by
  // rounding.
  double tie_width() const { return tie_width_; }
  uint64_t omega() const { return omega_; }
  uint64_t OmegaPower(uint64_t exponent) const;

 private:
  friend class ConstantRecogniser;

  uint64_t Hash(uint64_t kind, uint64_t x, uint64_t y = 0) const;
  Shadow FromHash(uint64_t kind, uint64_t x, uint64_t y, uint32_t history) const;
  Shadow MakeLog(uint64_t antilog, uint64_t den, uint32_t history) const;
  // x^(num/den) on the antilog or p-part; sets kNonResidueP where the root is one of a non-square.
  uint64_t PowerP(uint64_t x, int64_t num, uint64_t den, uint32_t* flags) const;
  Shadow SqrtOfRational(int64_t num, int64_t den) const;

  uint64_t seed_;
  std::unordered_set<uint64_t> zeros_;  // inputs that are 0
  uint64_t omega_;
  // ω^(d·256^i): a power of ω is then eight products, not ninety.
  std::array<std::array<uint64_t, 256>, 8> omega_table_;
  uint64_t log2e_p_, log2e_q_;      // the symbol for log2(e); ln 2 is its inverse
  uint64_t root_pi_p_, root_pi_q_;  // the symbol for sqrt(pi)
  uint64_t log10e_p_, log10e_q_;
  uint64_t euler_p_, euler_q_;
  double tie_width_;
};

// Makes `algebra` the current one of this thread, for the life of the scope.
class AlgebraScope {
 public:
  explicit AlgebraScope(const Algebra* algebra);
  ~AlgebraScope();
  AlgebraScope(const AlgebraScope&) = delete;
  AlgebraScope& operator=(const AlgebraScope&) = delete;

 private:
  const Algebra* before_;
};

// A float with its shadow. m is the scale of its rounding error (bounded.h).
struct Symbolic {
  double v = 0;
  Shadow s;
  float m = 0;

  Bounded bounded() const { return {v, m}; }
};

// Not finite: no algebra applies, the float says it all.
Symbolic MakeSymbolic(Bounded value, const Shadow& shadow);
Symbolic SymbolicConstant(double value, Precision precision);
Symbolic SymbolicInteger(double value);
Symbolic SymbolicInput(double value, uint64_t n);

Symbolic operator+(const Symbolic& x, const Symbolic& y);
Symbolic operator-(const Symbolic& x, const Symbolic& y);
Symbolic operator*(const Symbolic& x, const Symbolic& y);
Symbolic operator/(const Symbolic& x, const Symbolic& y);
Symbolic operator-(const Symbolic& x);

// The decision x < y (or x == y), which follows the float; *near_tie says that rounding could turn
// it. Equal shadows are no tie, and neither are two constants.
bool DecideLess(const Symbolic& x, const Symbolic& y, bool* near_tie);
bool DecideEqual(const Symbolic& x, const Symbolic& y, bool* near_tie);

enum class Equality { kEqual, kDifferent, kInconclusive };
struct Comparison {
  Equality equality = Equality::kInconclusive;
  uint32_t reason = 0;  // the taints, where inconclusive; 0: no part in common
};
// Are two values the same real number? Roundings of the floats do not matter.
Comparison CompareValues(const Symbolic& x, const Symbolic& y);
std::string DescribeReason(uint32_t reason);

}  // namespace kernelsmith
