// cvt: every scalar conversion between integers and f16, bf16, f32, f64. Packed forms and the 8-bit
// and smaller floats are in minifloat.h.
#pragma once

#include <cmath>
#include <limits>

#include "vgpu/math/arith.h"

namespace kernelsmith::vgpu::math {
inline namespace KS_MATH_ISA {

// `R` is the direction; `Integral` says that it was written .rni, .rzi, .rmi or .rpi. Conversions
// to integers are always integral. Satfinite: the largest finite value instead of infinity.
template <Round R = Round::kRn, bool Integral = false, bool Ftz = false, bool Sat = false,
          bool Relu = false, bool Satfinite = false>
struct CvtMode {
  static constexpr Round kRound = R;
  static constexpr bool kIntegral = Integral;
  static constexpr bool kFtz = Ftz;
  static constexpr bool kSat = Sat;
  static constexpr bool kRelu = Relu;
  static constexpr bool kSatfinite = Satfinite;
};

// To the integral value in direction R, as float: .rni is to nearest even.
template <Round R, typename Float>
inline Float RoundToIntegral(Float x) {
  switch (R) {
    case Round::kRz:
      return __builtin_elementwise_trunc(x);
    case Round::kRm:
      return __builtin_elementwise_floor(x);
    case Round::kRp:
      return __builtin_elementwise_ceil(x);
    case Round::kRn:
    case Round::kRna:
    case Round::kOdd:
      return __builtin_elementwise_roundeven(x);
  }
}

// ---- integer to integer ----

template <typename To, typename M, typename From>
constexpr To CvtIntToInt(From x) {
  if constexpr (M::kSat) {
    using Limits = std::numeric_limits<To>;
    if (std::is_signed_v<From> && x < 0) {
      if constexpr (std::is_unsigned_v<To>) return 0;
      if constexpr (std::is_signed_v<To> && sizeof(To) < sizeof(From)) {
        return x < static_cast<From>(Limits::min()) ? Limits::min() : static_cast<To>(x);
      }
      return static_cast<To>(x);
    }
    return static_cast<uint64_t>(x) > static_cast<uint64_t>(Limits::max()) ? Limits::max()
                                                                           : static_cast<To>(x);
  }
  return static_cast<To>(x);
}

// ---- integer to float ----

template <Round R, typename Float, typename Int>
constexpr Float FloatFromInt64(Int x) {
  using Word = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
  const Float nearest = static_cast<Float>(x);
  if constexpr (R == Round::kRn) return nearest;
  const __int128 back = static_cast<__int128>(nearest);
  const __int128 exact = x;
  const bool negative = exact < 0;
  const bool too_large = negative ? back < exact : back > exact;
  const bool too_small = negative ? back > exact : back < exact;
  const Word bits = Bits<Word>(nearest);
  const bool inward = R == Round::kRz || R == (negative ? Round::kRp : Round::kRm);
  const bool outward = R == (negative ? Round::kRm : Round::kRp);
  if constexpr (R == Round::kOdd) {
    if ((bits & 1) != 0) return nearest;
    return Bits<Float>(static_cast<Word>(too_large ? bits - 1 : too_small ? bits + 1 : bits));
  }
  if (inward && too_large) return Bits<Float>(static_cast<Word>(bits - 1));
  if (outward && too_small) return Bits<Float>(static_cast<Word>(bits + 1));
  return nearest;
}

template <Round R, typename Int>
constexpr float F32FromInt(Int x) {
  if constexpr (sizeof(Int) == 8) {
    return FloatFromInt64<R, float>(x);
  } else if constexpr (R == Round::kRn) {
    return static_cast<float>(x);
  } else {
    return NarrowF64<R>(static_cast<double>(x));
  }
}

template <typename To, typename M, typename From>
constexpr To CvtIntToFloat(From x) {
  if constexpr (std::is_same_v<To, float>) {
    return Saturate<M::kSat>(F32FromInt<M::kRound>(x));
  } else if constexpr (std::is_same_v<To, double>) {
    if constexpr (sizeof(From) == 8) {
      return Saturate<M::kSat>(FloatFromInt64<M::kRound, double>(x));
    } else {
      return Saturate<M::kSat>(static_cast<double>(x));
    }
  } else {
    using Finish = Mode<Round::kRn, false, M::kSat>;
    return FinishHalf<Finish>(HalfFromF32<To, M::kRound>(F32FromInt<Round::kOdd>(x)));
  }
}

// ---- float to integer: always saturating ----

template <typename To, Round R, bool NanIsZero, typename Float>
inline To IntFromFloat(Float x) {
  using Limits = std::numeric_limits<To>;
  using Wide = std::conditional_t<sizeof(To) == 8, To,
                                  std::conditional_t<std::is_signed_v<To>, int32_t, int64_t>>;
  const Float integral = RoundToIntegral<R>(x);
  // 2^width or 2^(width-1), a power of two and so exact in every float type: the first value that
  // is too large. The smallest value of a signed type is exact as well.
  constexpr Float kEnd = static_cast<Float>(Limits::max() / 2 + 1) * 2;
  constexpr Float kBegin = static_cast<Float>(Limits::min());
  const bool high = integral >= kEnd;
  const bool low = integral < kBegin;
  const Float inside = high || low || IsNan(x) ? Float{0} : integral;
  const To converted = static_cast<To>(static_cast<Wide>(inside));
  const To clamped = high ? Limits::max() : low ? Limits::min() : converted;
  constexpr To kNan = NanIsZero ? To{0} : static_cast<To>(uint64_t{1} << (sizeof(To) * 8 - 1));
  return IsNan(x) ? kNan : clamped;
}

template <typename To, typename M, typename From>
inline To CvtFloatToInt(From x) {
  if constexpr (kIsHalf<From>) {
    return IntFromFloat < To, M::kRound, sizeof(To) != 8 > (ToF32(x));
  } else if constexpr (std::is_same_v<From, float>) {
    return IntFromFloat < To, M::kRound, sizeof(To) != 8 > (Flush<M::kFtz>(x));
  } else {
    return IntFromFloat<To, M::kRound, false>(x);
  }
}

// ---- float to float ----

template <typename M>
constexpr float ClampF32(float x) {
  if constexpr (M::kRelu) x = x > 0.0f || IsNan(x) ? x : 0.0f;
  return Saturate<M::kSat>(x);
}

template <typename To, typename M>
constexpr To CvtF32ToHalf(float x) {
  To h = HalfFromF32<To, M::kRound>(ClampF32<M>(x));
  if constexpr (M::kSatfinite) {
    constexpr uint16_t kMax = std::is_same_v<To, F16> ? 0x7bff : 0x7f7f;
    if ((h.bits & 0x7fff) == kMax + 1) h.bits = static_cast<uint16_t>((h.bits & 0x8000) | kMax);
  }
  return h;
}

template <typename To, typename M, typename From>
inline To CvtFloatToFloat(From x) {
  if constexpr (kIsHalf<From>) {
    float wide = ToF32(x);
    if constexpr (M::kIntegral) wide = RoundToIntegral<M::kRound>(wide);
    if constexpr (std::is_same_v<To, float>) {
      // bf16 has f32's exponents, so its subnormals are f32's.
      return CanonicalNan(ClampF32<M>(Flush<M::kFtz>(wide)));
    } else if constexpr (std::is_same_v<To, double>) {
      return Saturate<M::kSat>(static_cast<double>(wide));
    } else {
      return CvtF32ToHalf<To, M>(wide);
    }
  } else if constexpr (std::is_same_v<From, float>) {
    x = Flush<M::kFtz>(x);
    if constexpr (M::kIntegral) x = RoundToIntegral<M::kRound>(x);
    if constexpr (std::is_same_v<To, float>) {
      return CanonicalNan(ClampF32<M>(x));
    } else if constexpr (std::is_same_v<To, double>) {
      return Saturate<M::kSat>(static_cast<double>(x));
    } else {
      return CvtF32ToHalf<To, M>(x);
    }
  } else {
    if constexpr (M::kIntegral) x = RoundToIntegral<M::kRound>(x);
    if constexpr (std::is_same_v<To, double>) {
      return Saturate<M::kSat>(x);
    } else if constexpr (std::is_same_v<To, float>) {
      return CanonicalNan(ClampF32<M>(Flush<M::kFtz>(NarrowF64<M::kRound>(x))));
    } else {
      return CvtF32ToHalf<To, M>(NarrowF64<Round::kOdd>(x));
    }
  }
}

// cvt between two of int8_t ... uint64_t, F16, BF16, float, double. The result has the type's own
// width; a wider destination register is the caller's extension.
template <typename To, typename M = CvtMode<>, typename From>
inline To Cvt(From x) {
  if constexpr (kIsFloat<From> && kIsFloat<To>) {
    return CvtFloatToFloat<To, M>(x);
  } else if constexpr (kIsFloat<From>) {
    return CvtFloatToInt<To, M>(x);
  } else if constexpr (kIsFloat<To>) {
    return CvtIntToFloat<To, M>(x);
  } else {
    return CvtIntToInt<To, M>(x);
  }
}

// cvt.{rn,rz,rna}{.satfinite}{.relu}.tf32.f32
template <typename M>
constexpr uint32_t CvtF32ToTF32(float x) {
  const float rounded = TF32FromF32<M::kRound>(ClampF32<M>(x));
  const uint32_t bits = Bits<uint32_t>(rounded);
  if (M::kSatfinite && (bits & 0x7fffffff) == 0x7f800000) return (bits & 0x80000000) | 0x7f7fe000;
  return bits;
}

}  // namespace KS_MATH_ISA
}  // namespace kernelsmith::vgpu::math
