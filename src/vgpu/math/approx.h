// The approximate instructions: rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh, div. PTX documents a
// largest error and the special cases, not the bits. Here each is computed in double (or by an IEEE
// operation) with fixed polynomials and rounded once, which stays far inside the documented errors
// and gives the same bits on every machine; libm would not.
#pragma once

#include "vgpu/math/compare.h"
#include "vgpu/math/convert.h"

namespace kernelsmith::vgpu::math {
inline namespace KS_MATH_ISA {

// ---- cores in double ----

// 2^x for |x| <= 1000: Taylor of 2^r on |r| <= 1/2, remainder below 1e-11.
inline double Exp2Core(double x) {
  const double n = RoundToIntegral<Round::kRn>(x);
  const double r = x - n;
  double p = 1.0178086009239699727e-7;
  p = p * r + 1.3215486790144309488e-6;
  p = p * r + 1.525273380405984028e-5;
  p = p * r + 1.5403530393381609954e-4;
  p = p * r + 1.3333558146428443423e-3;
  p = p * r + 9.618129107628477162e-3;
  p = p * r + 5.5504108664821579953e-2;
  p = p * r + 0.24022650695910071233;
  p = p * r + 0.69314718055994530942;
  p = p * r + 1.0;
  // n as an integer through the mantissa of a large number, so that no 64-bit conversion is needed.
  const uint64_t exponent = Bits<uint64_t>(n + 0x1.8p52) << 52;
  return p * Bits<double>(exponent + (uint64_t{1023} << 52));
}

// log2 of a positive normal double: x = 2^n m with m in [sqrt(1/2), sqrt(2)), and
// log2(m) = 2/ln2 * atanh((m-1)/(m+1)), seven terms, remainder below 1e-12 relative.
inline double Log2Core(double x) {
  const uint64_t bits = Bits<uint64_t>(x);
  // Adding the distance from sqrt(1/2) to 1 carries into the exponent where m belongs to the next
  // one.
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const uint64_t shifted = bits + (0x3ff0000000000000 - kSqrtHalf);
  const uint64_t field = shifted >> 52;
  const double n = Bits<double>(field | 0x4330000000000000) - (0x1p52 + 1023.0);
  const double m = Bits<double>((shifted & 0x000fffffffffffff) + kSqrtHalf);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 0.22195308321368667806;
  p = p * z + 0.26230818925253880134;
  p = p * z + 0.32059889797532520164;
  p = p * z + 0.4121985831111324021;
  p = p * z + 0.57707801635558536294;
  p = p * z + 0.96179669392597560491;
  p = p * z + 2.8853900817779268147;
  return p * s + n;
}

// sin and cos of 2 pi t. Turns that a double cannot tell apart count as zero, as in hardware.
struct SinCosPair {
  double sin;
  double cos;
};
inline SinCosPair SinCosTurns(double t) {
  const double fraction = t - RoundToIntegral<Round::kRn>(t);
  const double quarters = RoundToIntegral<Round::kRn>(fraction * 4.0);
  const double r = fraction - quarters * 0.25;  // |r| <= 1/8, exact
  const double z = r * r;
  double s = -15.094642576822990392;
  s = s * z + 42.058693944897653145;
  s = s * z - 76.705859753061385842;
  s = s * z + 81.605249276075054203;
  s = s * z - 41.341702240399760234;
  s = s * z + 6.2831853071795864769;
  s = s * r;
  double c = 7.9035363713184688042;
  c = c * z - 26.426256783374397453;
  c = c * z + 60.244641371876660363;
  c = c * z - 85.456817206693727736;
  c = c * z + 64.939394022668291491;
  c = c * z - 19.739208802178717238;
  c = c * z + 1.0;
  const bool odd = (quarters == 1.0) | (quarters == -1.0);
  const bool half = (quarters == 2.0) | (quarters == -2.0);
  const double sin = odd ? (quarters > 0.0 ? c : -c) : (half ? -s : s);
  const double cos = odd ? (quarters > 0.0 ? -s : s) : (half ? -c : c);
  return {sin, cos};
}

// ---- f32 ----

// At most 1 ulp is documented: the IEEE quotient.
template <bool Ftz = false>
constexpr float RcpApprox(float a) {
  return Rcp<Mode<Round::kRn, Ftz>>(a);
}

// 2^-23 relative.
template <bool Ftz = false>
inline float SqrtApprox(float a) {
  return Sqrt<Mode<Round::kRn, Ftz>>(a);
}

// 2^-22.9 relative.
template <bool Ftz = false>
inline float RsqrtApprox(float a) {
  const double x = Flush<Ftz>(a);
  return CanonicalNan(static_cast<float>(1.0 / __builtin_elementwise_sqrt(x)));
}

// 2 ulp for |b| in [2^-126, 2^126]. Above, the reciprocal is flushed: the result is zero, or NaN
// for an infinite dividend.
template <bool Ftz = false>
constexpr float DivApprox(float a, float b) {
  a = Flush<Ftz>(a);
  b = Flush<Ftz>(b);
  const bool flushed = Abs(b) > 0x1p126f && Abs(b) < Bits<float>(0x7f800000u);
  const float zero = Bits<float>(SignBit(b));
  return Flush<Ftz>(CanonicalNan(flushed ? a * zero : a / b));
}

// 2 ulp over the whole range.
template <bool Ftz = false>
constexpr float DivFull(float a, float b) {
  return Div<Mode<Round::kRn, Ftz>>(a, b);
}

// 2^-22 relative.
template <bool Ftz = false>
inline float Ex2Approx(float a) {
  a = Flush<Ftz>(a);
  double x = a;
  x = x < 200.0 ? x : 200.0;  // overflows in f32; NaN too, put right below
  x = x > -200.0 ? x : -200.0;
  const float result = Flush<Ftz>(static_cast<float>(Exp2Core(x)));
  return IsNan(a) ? Bits<float>(kF32Nan) : result;
}

// 2^-22 absolute in (0.5, 2), relative elsewhere.
template <bool Ftz = false>
inline float Lg2Approx(float a) {
  a = Flush<Ftz>(a);
  const float infinity = Bits<float>(0x7f800000u);
  const bool regular = (a > 0.0f) & (a < infinity);
  const float result = Flush<Ftz>(static_cast<float>(Log2Core(regular ? a : 1.0f)));
  const float special = a == 0.0f ? -infinity : a > 0.0f ? a : Bits<float>(kF32Nan);
  return regular ? result : special;
}

// 2^-20.5 absolute in [-2pi, 2pi].
template <bool Ftz = false>
inline float SinApprox(float a) {
  a = Flush<Ftz>(a);
  const double turns = static_cast<double>(a) * 0.15915494309189533577;
  const float result = static_cast<float>(SinCosTurns(turns).sin);
  // -0 minus its own rounding is +0: sin keeps the sign of zero.
  return Flush<Ftz>(CanonicalNan(a == 0.0f ? a : result));
}
template <bool Ftz = false>
inline float CosApprox(float a) {
  const double turns = static_cast<double>(Flush<Ftz>(a)) * 0.15915494309189533577;
  return Flush<Ftz>(CanonicalNan(static_cast<float>(SinCosTurns(turns).cos)));
}

// 2^-11 relative. Near zero tanh(x) is x; elsewhere 1 - 2 / (e^2x + 1).
inline float TanhApprox(float a) {
  const double x = Abs(a);
  const double clamped = x < 20.0 ? x : 20.0;
  const double e = Exp2Core(clamped * 2.8853900817779268147);
  const float large = static_cast<float>(1.0 - 2.0 / (e + 1.0));
  const float result = x < 0x1p-12 ? Abs(a) : large;
  return IsNan(a) ? Bits<float>(kF32Nan) : CopySign(a, result);
}

// ---- f16 and bf16 ----

inline F16 Ex2Approx(F16 a) { return F16FromF32(Ex2Approx<false>(F32FromF16(a))); }
// .ftz is part of this one: subnormal results become zero (inputs near zero give 1 either way).
inline BF16 Ex2Approx(BF16 a) {
  const BF16 result = BF16FromF32(Ex2Approx<true>(F32FromBF16(a)));
  return (result.bits & 0x7f80) == 0 ? BF16{0} : result;
}
template <typename Half, std::enable_if_t<kIsHalf<Half>, int> = 0>
inline Half TanhApprox(Half a) {
  return HalfFromF32<Half>(TanhApprox(ToF32(a)));
}
template <typename Pair, std::enable_if_t<kIsHalf2<Pair>, int> = 0>
inline Pair Ex2Approx(Pair a) {
  return Pack(Ex2Approx(Lo(a)), Ex2Approx(Hi(a)));
}
template <typename Pair, std::enable_if_t<kIsHalf2<Pair>, int> = 0>
inline Pair TanhApprox(Pair a) {
  return Pack(TanhApprox(Lo(a)), TanhApprox(Hi(a)));
}

// ---- f64 ----

// The .approx.ftz.f64 forms see and give only the upper word, in 1.11.20 format.
inline constexpr uint64_t kF64GrossNan = 0x7fffffff00000000;
constexpr double UpperWord(double x) {
  const uint64_t bits = Bits<uint64_t>(x) & 0xffffffff00000000;
  return Bits<double>((bits & 0x7ff0000000000000) == 0 ? bits & 0x8000000000000000 : bits);
}
constexpr double RoundToUpperWord(double x) {
  if (IsNan(x)) return Bits<double>(kF64GrossNan);
  // A carry out of the mantissa goes to the exponent, where it belongs; infinity has nothing to
  // round.
  return UpperWord(Bits<double>(Bits<uint64_t>(x) + 0x80000000));
}
constexpr double RcpApproxFtz(double a) { return RoundToUpperWord(1.0 / UpperWord(a)); }
inline double RsqrtApproxFtz(double a) {
  return RoundToUpperWord(1.0 / __builtin_elementwise_sqrt(UpperWord(a)));
}
inline double RsqrtApprox(double a) { return FinishF64(1.0 / __builtin_elementwise_sqrt(a), a); }

}  // namespace KS_MATH_ISA
}  // namespace kernelsmith::vgpu::math
