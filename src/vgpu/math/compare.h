// Comparisons, min and max, and the operations on signs and classes of floats.
#pragma once

#include "vgpu/math/arith.h"

namespace kernelsmith::vgpu::math {
inline namespace KS_MATH_ISA {

// The comparisons of set and setp. The ...U forms are also true when an operand is NaN. lo, ls, hi
// and hs are kLt, kLe, kGt and kGe of unsigned types.
enum class Cmp { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };

template <Cmp C, typename T>
constexpr bool CompareValues(T a, T b) {
  switch (C) {
    case Cmp::kEq:
      return a == b;
    case Cmp::kNe:
      return (a < b) | (a > b);
    case Cmp::kLt:
      return a < b;
    case Cmp::kLe:
      return a <= b;
    case Cmp::kGt:
      return a > b;
    case Cmp::kGe:
      return a >= b;
    case Cmp::kEqu:
      return !((a < b) | (a > b));
    case Cmp::kNeu:
      return !(a == b);
    case Cmp::kLtu:
      return !(a >= b);
    case Cmp::kLeu:
      return !(a > b);
    case Cmp::kGtu:
      return !(a <= b);
    case Cmp::kGeu:
      return !(a < b);
    case Cmp::kNum:
      return (a == a) & (b == b);
    case Cmp::kNan:
      return !((a == a) & (b == b));
  }
}

// Integers of any width, f32, f64, f16, bf16.
template <Cmp C, bool Ftz = false, typename T>
constexpr bool Compare(T a, T b) {
  if constexpr (kIsHalf<T>) {
    return CompareValues<C>(ToF32(FlushHalf<Ftz>(a)), ToF32(FlushHalf<Ftz>(b)));
  } else if constexpr (std::is_same_v<T, float>) {
    return CompareValues<C>(Flush<Ftz>(a), Flush<Ftz>(b));
  } else {
    return CompareValues<C>(a, b);
  }
}

constexpr uint32_t SignBit(float x) { return Bits<uint32_t>(x) & 0x80000000u; }
constexpr uint64_t SignBit(double x) { return Bits<uint64_t>(x) & 0x8000000000000000u; }

constexpr float Abs(float x) { return Bits<float>(Bits<uint32_t>(x) & 0x7fffffff); }
constexpr double Abs(double x) { return Bits<double>(Bits<uint64_t>(x) & 0x7fffffffffffffff); }
constexpr float Neg(float x) { return Bits<float>(Bits<uint32_t>(x) ^ 0x80000000u); }
constexpr double Neg(double x) { return Bits<double>(Bits<uint64_t>(x) ^ 0x8000000000000000u); }
template <typename Half, std::enable_if_t<kIsHalf<Half>, int> = 0>
constexpr Half Abs(Half x) {
  return {static_cast<uint16_t>(x.bits & 0x7fff)};
}
template <typename Half, std::enable_if_t<kIsHalf<Half>, int> = 0>
constexpr Half Neg(Half x) {
  return {static_cast<uint16_t>(x.bits ^ 0x8000)};
}

// abs and neg as instructions: with .ftz, and NaNs canonical.
template <bool Ftz = false, typename T>
constexpr T AbsInsn(T x) {
  if constexpr (kIsHalf2<T>) {
    return Pack(AbsInsn<Ftz>(Lo(x)), AbsInsn<Ftz>(Hi(x)));
  } else if constexpr (kIsHalf<T>) {
    return IsNan(x) ? T{0x7fff} : Abs(FlushHalf<Ftz>(x));
  } else if constexpr (std::is_same_v<T, float>) {
    return CanonicalNan(Abs(Flush<Ftz>(x)));
  } else {
    return Abs(x);
  }
}
template <bool Ftz = false, typename T>
constexpr T NegInsn(T x) {
  if constexpr (kIsHalf2<T>) {
    return Pack(NegInsn<Ftz>(Lo(x)), NegInsn<Ftz>(Hi(x)));
  } else if constexpr (kIsHalf<T>) {
    return IsNan(x) ? T{0x7fff} : Neg(FlushHalf<Ftz>(x));
  } else if constexpr (std::is_same_v<T, float>) {
    return CanonicalNan(Neg(Flush<Ftz>(x)));
  } else {
    return Neg(x);
  }
}

// copysign d, a, b: the sign of a on the magnitude of b.
constexpr float CopySign(float a, float b) {
  return Bits<float>(SignBit(a) | (Bits<uint32_t>(b) & 0x7fffffff));
}
constexpr double CopySign(double a, double b) {
  return Bits<double>(SignBit(a) | (Bits<uint64_t>(b) & 0x7fffffffffffffff));
}

// min and max: -0 is less than +0; a NaN loses against a number, or wins with .NaN. `Xorsign`: of
// the absolute values, with the product's sign.
template <bool kMax, bool Nan, bool Xorsign>
constexpr float MinMaxF32(float a, float b) {
  const uint32_t sign = SignBit(a) ^ SignBit(b);
  if constexpr (Xorsign) {
    a = Abs(a);
    b = Abs(b);
  }
  // Equal values differ at most in the sign of zero.
  const bool a_less = (a < b) | ((a == b) & (SignBit(a) != 0));
  const float chosen = a_less != kMax ? a : b;
  float result;
  if constexpr (Nan) {
    result = IsNan(a) || IsNan(b) ? Bits<float>(kF32Nan) : chosen;
  } else {
    result = IsNan(a) ? b : IsNan(b) ? a : chosen;
    result = CanonicalNan(result);
  }
  if constexpr (Xorsign)
    result = IsNan(result) ? result : Bits<float>(Bits<uint32_t>(result) | sign);
  return result;
}

template <bool kMax, bool Ftz = false, bool Nan = false, bool Xorsign = false, typename T>
constexpr T MinMax(T a, T b) {
  if constexpr (kIsHalf2<T>) {
    return Pack(MinMax<kMax, Ftz, Nan, Xorsign>(Lo(a), Lo(b)),
                MinMax<kMax, Ftz, Nan, Xorsign>(Hi(a), Hi(b)));
  } else if constexpr (kIsHalf<T>) {
    return HalfFromF32<T>(
        MinMaxF32<kMax, Nan, Xorsign>(ToF32(FlushHalf<Ftz>(a)), ToF32(FlushHalf<Ftz>(b))));
  } else if constexpr (std::is_same_v<T, float>) {
    return MinMaxF32<kMax, Nan, Xorsign>(Flush<Ftz>(a), Flush<Ftz>(b));
  } else if constexpr (std::is_same_v<T, double>) {
    const bool a_less = (a < b) | ((a == b) & (SignBit(a) != 0));
    const double chosen = a_less != kMax ? a : b;
    // Both NaN: the first, as in arithmetic.
    return IsNan(a) ? (IsNan(b) ? QuietF64(a) : b) : IsNan(b) ? a : chosen;
  } else {
    return (a < b) != kMax ? a : b;
  }
}

template <bool Ftz = false, bool Nan = false, bool Xorsign = false, typename T>
constexpr T Min(T a, T b) {
  return MinMax<false, Ftz, Nan, Xorsign>(a, b);
}
template <bool Ftz = false, bool Nan = false, bool Xorsign = false, typename T>
constexpr T Max(T a, T b) {
  return MinMax<true, Ftz, Nan, Xorsign>(a, b);
}
// The forms with three operands; `kAbs`: of the absolute values.
template <bool kMax, bool Ftz = false, bool Nan = false, bool kAbs = false, typename T>
constexpr T MinMax3(T a, T b, T c) {
  if constexpr (kAbs) return MinMax3<kMax, Ftz, Nan>(Abs(a), Abs(b), Abs(c));
  return MinMax<kMax, Ftz, Nan>(MinMax<kMax, Ftz, Nan>(a, b), c);
}

enum class FloatClass { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };

template <FloatClass C, typename T>
constexpr bool TestP(T x) {
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Word kInfinity =
      sizeof(T) == 4 ? Word{0x7f800000u} : static_cast<Word>(0x7ff0000000000000u);
  const Word magnitude = Bits<Word>(x) & (~Word{0} >> 1);
  const Word exponent = magnitude & kInfinity;
  switch (C) {
    case FloatClass::kFinite:
      return exponent != kInfinity;
    case FloatClass::kInfinite:
      return magnitude == kInfinity;
    case FloatClass::kNumber:
      return magnitude <= kInfinity;
    case FloatClass::kNotANumber:
      return magnitude > kInfinity;
    case FloatClass::kNormal:
      return exponent != 0 && exponent != kInfinity;
    case FloatClass::kSubnormal:
      return exponent == 0 && magnitude != 0;
  }
}

}  // namespace KS_MATH_ISA
}  // namespace kernelsmith::vgpu::math
