// add, sub, mul, fma, div, rcp, sqrt of f32, f64, f16 and bf16 in every rounding mode of PTX, with
// .ftz and .sat. Results are those of one rounding of the exact value; NaNs are PTX's.
#pragma once

#include "vgpu/math/round.h"

namespace kernelsmith::vgpu::math {

// f64 in the directed modes: rare, so these are calls (arith_f64.cc) that set the host's rounding
// mode around one instruction.
double AddF64Directed(Round round, double a, double b);
double MulF64Directed(Round round, double a, double b);
double FmaF64Directed(Round round, double a, double b, double c);
double DivF64Directed(Round round, double a, double b);
double SqrtF64Directed(Round round, double a);

inline namespace KS_MATH_ISA {

// The options of one instruction as a type, so that handlers write Add<Mode<Round::kRn, true>>(a,
// b).
template <Round R = Round::kRn, bool Ftz = false, bool Sat = false, bool Relu = false>
struct Mode {
  static constexpr Round kRound = R;
  static constexpr bool kFtz = Ftz;
  static constexpr bool kSat = Sat;
  static constexpr bool kRelu = Relu;
};

// ---- f32 ----

template <typename M>
constexpr float FinishF32(float x) {
  x = Flush<M::kFtz>(x);
  if constexpr (M::kSat) return Saturate<true>(x);
  x = CanonicalNan(x);
  // NaN stays NaN: only .sat turns it into zero.
  if constexpr (M::kRelu) return x < 0.0f || Bits<uint32_t>(x) == 0x80000000u ? 0.0f : x;
  return x;
}

template <typename M = Mode<>>
constexpr float Add(float a, float b) {
  a = Flush<M::kFtz>(a);
  b = Flush<M::kFtz>(b);
  if constexpr (M::kRound == Round::kRn) {
    return FinishF32<M>(a + b);
  } else {
    const TwoSum exact = AddExactly(a, b);
    float result = NarrowF64<M::kRound>(exact.sum, exact.rest);
    if constexpr (M::kRound == Round::kRm) {
      // An exact zero is -0 in this mode unless both operands are +0.
      const bool minus = ((Bits<uint32_t>(a) | Bits<uint32_t>(b)) >> 31) != 0;
      result = ((exact.sum == 0.0) & minus) ? -0.0f : result;
    }
    return FinishF32<M>(result);
  }
}

template <typename M = Mode<>>
constexpr float Sub(float a, float b) {
  return Add<M>(a, -b);
}

template <typename M = Mode<>>
constexpr float Mul(float a, float b) {
  a = Flush<M::kFtz>(a);
  b = Flush<M::kFtz>(b);
  if constexpr (M::kRound == Round::kRn) {
    return FinishF32<M>(a * b);
  } else {
    // 48 bits: exact.
    return FinishF32<M>(NarrowF64<M::kRound>(static_cast<double>(a) * static_cast<double>(b)));
  }
}

template <typename M = Mode<>>
inline float Fma(float a, float b, float c) {
  a = Flush<M::kFtz>(a);
  b = Flush<M::kFtz>(b);
  c = Flush<M::kFtz>(c);
#if defined(__FMA__)
  if constexpr (M::kRound == Round::kRn) return FinishF32<M>(__builtin_fmaf(a, b, c));
#endif
  const double product = static_cast<double>(a) * static_cast<double>(b);  // exact
  const TwoSum exact = AddExactly(product, c);
  if constexpr (M::kRound == Round::kRn) {
    return FinishF32<M>(static_cast<float>(OddF64(exact)));
  } else {
    float result = NarrowF64<M::kRound>(exact.sum, exact.rest);
    if constexpr (M::kRound == Round::kRm) {
      const bool minus = ((Bits<uint64_t>(product) | Bits<uint64_t>(double{c})) >> 63) != 0;
      result = ((exact.sum == 0.0) & minus) ? -0.0f : result;
    }
    return FinishF32<M>(result);
  }
}

// The quotient and the square root of 24-bit numbers are never so close to a float, or to the
// middle of two, that rounding them to 53 bits first could hide on which side they lie.
template <typename M = Mode<>>
constexpr float Div(float a, float b) {
  a = Flush<M::kFtz>(a);
  b = Flush<M::kFtz>(b);
  if constexpr (M::kRound == Round::kRn) {
    return FinishF32<M>(a / b);
  } else {
    return FinishF32<M>(NarrowF64<M::kRound>(static_cast<double>(a) / static_cast<double>(b)));
  }
}

template <typename M = Mode<>>
constexpr float Rcp(float a) {
  return Div<M>(1.0f, a);
}

template <typename M = Mode<>>
inline float Sqrt(float a) {
  a = Flush<M::kFtz>(a);
  if constexpr (M::kRound == Round::kRn) {
    return FinishF32<M>(__builtin_elementwise_sqrt(a));
  } else {
    return FinishF32<M>(NarrowF64<M::kRound>(__builtin_elementwise_sqrt(static_cast<double>(a))));
  }
}

// ---- f64 ----

constexpr double QuietF64(double x) { return Bits<double>(Bits<uint64_t>(x) | kF64QuietBit); }

// The first NaN operand, quiet; the indefinite NaN if the operation itself was invalid.
constexpr double FinishF64(double r, double a) {
  const double nan = IsNan(a) ? QuietF64(a) : Bits<double>(kF64Indefinite);
  return IsNan(r) ? nan : r;
}
constexpr double FinishF64(double r, double a, double b) {
  const double nan = IsNan(b) ? QuietF64(b) : Bits<double>(kF64Indefinite);
  return IsNan(r) ? (IsNan(a) ? QuietF64(a) : nan) : r;
}
constexpr double FinishF64(double r, double a, double b, double c) {
  const double nan = IsNan(c) ? QuietF64(c) : Bits<double>(kF64Indefinite);
  const double nan_b = IsNan(b) ? QuietF64(b) : nan;
  return IsNan(r) ? (IsNan(a) ? QuietF64(a) : nan_b) : r;
}

template <typename M = Mode<>>
inline double Add(double a, double b) {
  if constexpr (M::kRound == Round::kRn) return FinishF64(a + b, a, b);
  return FinishF64(AddF64Directed(M::kRound, a, b), a, b);
}

template <typename M = Mode<>>
inline double Sub(double a, double b) {
  if constexpr (M::kRound == Round::kRn) return FinishF64(a - b, a, b);
  return FinishF64(AddF64Directed(M::kRound, a, -b), a, b);
}

template <typename M = Mode<>>
inline double Mul(double a, double b) {
  if constexpr (M::kRound == Round::kRn) return FinishF64(a * b, a, b);
  return FinishF64(MulF64Directed(M::kRound, a, b), a, b);
}

template <typename M = Mode<>>
inline double Fma(double a, double b, double c) {
  if constexpr (M::kRound == Round::kRn)
    return FinishF64(__builtin_elementwise_fma(a, b, c), a, b, c);
  return FinishF64(FmaF64Directed(M::kRound, a, b, c), a, b, c);
}

template <typename M = Mode<>>
inline double Div(double a, double b) {
  if constexpr (M::kRound == Round::kRn) return FinishF64(a / b, a, b);
  return FinishF64(DivF64Directed(M::kRound, a, b), a, b);
}

template <typename M = Mode<>>
inline double Rcp(double a) {
  return Div<M>(1.0, a);
}

template <typename M = Mode<>>
inline double Sqrt(double a) {
  if constexpr (M::kRound == Round::kRn) return FinishF64(__builtin_elementwise_sqrt(a), a);
  return FinishF64(SqrtF64Directed(M::kRound, a), a);
}

// ---- f16, bf16 and pairs; .rn only, as in PTX ----

template <bool Ftz>
constexpr F16 FlushHalf(F16 x) {
  return Ftz && (x.bits & 0x7c00) == 0 ? F16{static_cast<uint16_t>(x.bits & 0x8000)} : x;
}
template <bool Ftz>
constexpr BF16 FlushHalf(BF16 x) {
  return x;  // no .ftz on bf16 arithmetic
}

template <typename M, typename Half>
constexpr Half FinishHalf(Half x) {
  x = FlushHalf<M::kFtz>(x);
  constexpr uint16_t kOne = std::is_same_v<Half, F16> ? 0x3c00 : 0x3f80;
  const bool negative = (x.bits & 0x8000) != 0;
  if constexpr (M::kSat) {
    const uint16_t clamped = x.bits > kOne ? kOne : x.bits;
    return {static_cast<uint16_t>(negative || IsNan(x) ? 0 : clamped)};
  }
  if constexpr (M::kRelu) return {static_cast<uint16_t>(negative && !IsNan(x) ? 0 : x.bits)};
  return x;
}

// Half of double the precision plus two bits: rounding the f32 result again is harmless (for bf16,
// only while the f32 result is no subnormal, hence double there).
template <typename M = Mode<>, typename Half, std::enable_if_t<kIsHalf<Half>, int> = 0>
constexpr Half Add(Half a, Half b) {
  const float x = ToF32(FlushHalf<M::kFtz>(a));
  const float y = ToF32(FlushHalf<M::kFtz>(b));
  return FinishHalf<M>(HalfFromF32<Half>(x + y));
}

template <typename M = Mode<>, typename Half, std::enable_if_t<kIsHalf<Half>, int> = 0>
constexpr Half Sub(Half a, Half b) {
  const float x = ToF32(FlushHalf<M::kFtz>(a));
  const float y = ToF32(FlushHalf<M::kFtz>(b));
  return FinishHalf<M>(HalfFromF32<Half>(x - y));
}

template <typename M = Mode<>, typename Half, std::enable_if_t<kIsHalf<Half>, int> = 0>
constexpr Half Mul(Half a, Half b) {
  const float x = ToF32(FlushHalf<M::kFtz>(a));
  const float y = ToF32(FlushHalf<M::kFtz>(b));
  if constexpr (std::is_same_v<Half, F16>) {
    return FinishHalf<M>(HalfFromF32<Half>(x * y));
  } else {
    return FinishHalf<M>(HalfFromF64<Half>(static_cast<double>(x) * static_cast<double>(y)));
  }
}

template <typename M = Mode<>, typename Half, std::enable_if_t<kIsHalf<Half>, int> = 0>
constexpr Half Fma(Half a, Half b, Half c) {
  const double x = ToF32(FlushHalf<M::kFtz>(a));
  const double y = ToF32(FlushHalf<M::kFtz>(b));
  const double z = ToF32(FlushHalf<M::kFtz>(c));
  return FinishHalf<M>(HalfFromF64<Half>(OddF64(AddExactly(x * y, z))));
}

template <typename M = Mode<>, typename Pair, std::enable_if_t<kIsHalf2<Pair>, int> = 0>
constexpr Pair Add(Pair a, Pair b) {
  return Pack(Add<M>(Lo(a), Lo(b)), Add<M>(Hi(a), Hi(b)));
}
template <typename M = Mode<>, typename Pair, std::enable_if_t<kIsHalf2<Pair>, int> = 0>
constexpr Pair Sub(Pair a, Pair b) {
  return Pack(Sub<M>(Lo(a), Lo(b)), Sub<M>(Hi(a), Hi(b)));
}
template <typename M = Mode<>, typename Pair, std::enable_if_t<kIsHalf2<Pair>, int> = 0>
constexpr Pair Mul(Pair a, Pair b) {
  return Pack(Mul<M>(Lo(a), Lo(b)), Mul<M>(Hi(a), Hi(b)));
}
template <typename M = Mode<>, typename Pair, std::enable_if_t<kIsHalf2<Pair>, int> = 0>
constexpr Pair Fma(Pair a, Pair b, Pair c) {
  return Pack(Fma<M>(Lo(a), Lo(b), Lo(c)), Fma<M>(Hi(a), Hi(b), Hi(c)));
}

}  // namespace KS_MATH_ISA
}  // namespace kernelsmith::vgpu::math
