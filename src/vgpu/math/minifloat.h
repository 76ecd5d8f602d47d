// The 8-, 6- and 4-bit floats, and the packed forms of cvt. In every packed cvt the first source
// goes to the high half.
#pragma once

#include "vgpu/math/convert.h"

namespace kernelsmith::vgpu::math {
inline namespace KS_MATH_ISA {

// kMax is the code of the largest finite value; kNan is 0 where the format has no NaN (then NaN
// becomes the largest finite value, as PTX says for these formats).
template <int kExp, int kMant, uint32_t kMaxCode, uint32_t kNanCode>
struct MiniFormat {
  static constexpr int kExponentBits = kExp;
  static constexpr int kMantissaBits = kMant;
  static constexpr uint32_t kMax = kMaxCode;
  static constexpr uint32_t kNan = kNanCode;
  static constexpr int kBits = 1 + kExp + kMant;
};
using E4M3 = MiniFormat<4, 3, 0x7e, 0x7f>;
using E5M2 = MiniFormat<5, 2, 0x7b, 0x7f>;
using E2M3 = MiniFormat<2, 3, 0x1f, 0>;
using E3M2 = MiniFormat<3, 2, 0x1f, 0>;
using E2M1 = MiniFormat<2, 1, 0x7, 0>;

// cvt.rn.satfinite{.relu}: all conversions to these formats saturate.
template <typename Format, bool Relu = false, Round R = Round::kRn>
constexpr uint32_t MiniFromF32(float x) {
  if (IsNan(x)) return Format::kNan != 0 ? Format::kNan : Format::kMax;
  const uint32_t bits = Bits<uint32_t>(x);
  const bool negative = (bits >> 31) != 0;
  if (Relu && negative) return 0;
  uint32_t magnitude = NarrowMagnitude<Format::kExponentBits, Format::kMantissaBits, R>(bits);
  magnitude = magnitude > Format::kMax ? Format::kMax : magnitude;
  return magnitude | (negative ? 1u << (Format::kBits - 1) : 0u);
}

template <typename Format>
constexpr float F32FromMini(uint32_t code) {
  constexpr int kMant = Format::kMantissaBits;
  constexpr int kBias = (1 << (Format::kExponentBits - 1)) - 1;
  const uint32_t magnitude = code & ((1u << (Format::kBits - 1)) - 1);
  const float sign = (code >> (Format::kBits - 1) & 1) != 0 ? -1.0f : 1.0f;
  if (Format::kNan != 0 && magnitude > Format::kMax) {
    // e5m2 has infinity as well: exponent all ones, mantissa zero.
    if (std::is_same_v<Format, E5M2> && magnitude == 0x7c) return sign * Bits<float>(0x7f800000u);
    return Bits<float>(kF32Nan);
  }
  const int field = static_cast<int>(magnitude >> kMant);
  const uint32_t mantissa = magnitude & ((1u << kMant) - 1);
  // (mantissa with or without the implicit one) * 2^(exponent - kMant): exact in f32.
  const int exponent = (field != 0 ? field : 1) - kBias - kMant;
  const uint32_t whole = mantissa | (field != 0 ? 1u << kMant : 0u);
  const float scale = Bits<float>(static_cast<uint32_t>(exponent + 127) << 23);
  return sign * static_cast<float>(whole) * scale;
}

// cvt.{rn,rz}{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d, a, b
template <typename Pair, typename M = CvtMode<>>
constexpr Pair CvtPackHalf(float a, float b) {
  return Pack(CvtF32ToHalf<Element<Pair>, M>(b), CvtF32ToHalf<Element<Pair>, M>(a));
}

// cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.f32 d, a, b: a 16-bit result. For e2m1x2 the two codes
// are adjacent nibbles of an 8-bit result; for the 6-bit formats each has a byte.
template <typename Format, bool Relu = false>
constexpr uint16_t CvtPackMini(float a, float b) {
  constexpr int kStride = Format::kBits == 4 ? 4 : 8;
  return static_cast<uint16_t>(MiniFromF32<Format, Relu>(b) | MiniFromF32<Format, Relu>(a)
                                                                  << kStride);
}

// cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.{f16x2,bf16x2} d, a
template <typename Format, bool Relu = false, typename Pair>
constexpr uint16_t CvtPairToMini(Pair a) {
  return CvtPackMini<Format, Relu>(ToF32(Hi(a)), ToF32(Lo(a)));
}

// cvt.rn{.relu}.{f16x2,bf16x2}.{e4m3x2,e5m2x2,...} d, a
template <typename Format, typename Pair = F16x2, bool Relu = false>
constexpr Pair CvtMiniToPair(uint16_t codes) {
  constexpr int kStride = Format::kBits == 4 ? 4 : 8;
  using M = CvtMode<Round::kRn, false, false, false, Relu>;
  return CvtPackHalf<Pair, M>(F32FromMini<Format>(codes >> kStride), F32FromMini<Format>(codes));
}

// ue8m0: a power of two as a biased exponent, 0xff is NaN. Rounds towards zero or up.
template <Round R = Round::kRz>
constexpr uint32_t UE8M0FromF32(float x) {
  if (IsNan(x)) return 0xff;
  const uint32_t magnitude = Bits<uint32_t>(x) & 0x7fffffff;
  const uint32_t field = magnitude >> 23;
  const bool inexact = (magnitude & 0x7fffff) != 0;
  const uint32_t up = field + (R == Round::kRp && inexact && magnitude > 0x00400000 ? 1u : 0u);
  return up > 0xfe ? 0xfe : up;
}
constexpr float F32FromUE8M0(uint32_t code) {
  code &= 0xff;
  if (code == 0xff) return Bits<float>(kF32Nan);
  return Bits<float>(code == 0 ? 0x00400000u : code << 23);
}

// cvt.pack.sat.<To>.s32 d, a, b{, c}: `bits` wide fields, b lowest, then a, then the low bits of c.
template <int kBits, bool kSigned>
constexpr uint32_t CvtPackSat(int32_t a, int32_t b, uint32_t c = 0) {
  constexpr int64_t kMin = kSigned ? -(int64_t{1} << (kBits - 1)) : 0;
  constexpr int64_t kMax = (int64_t{1} << (kSigned ? kBits - 1 : kBits)) - 1;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  const int64_t x = a < kMin ? kMin : a > kMax ? kMax : a;
  const int64_t y = b < kMin ? kMin : b > kMax ? kMax : b;
  const uint32_t pair =
      (static_cast<uint32_t>(x) & kMask) << kBits | (static_cast<uint32_t>(y) & kMask);
  if constexpr (kBits == 16) {
    return pair;
  } else {
    return pair | c << (2 * kBits);
  }
}

}  // namespace KS_MATH_ISA
}  // namespace kernelsmith::vgpu::math
