// Roundings between binary formats, all with integer arithmetic or exact comparisons, never with
// the host's rounding mode: every function here is a plain expression that a compiler can
// vectorise.
#pragma once

#include "vgpu/math/types.h"

namespace kernelsmith::vgpu::math {
inline namespace KS_MATH_ISA {

// Whether a magnitude that was cut to `kept`, leaving `rest` of a last place of 2 * `half`, must be
// made one larger.
template <Round R>
constexpr bool RoundsUp(uint32_t kept, uint32_t rest, uint32_t half, bool negative) {
  switch (R) {
    case Round::kRn:
      return (rest > half) | ((rest == half) & ((kept & 1) != 0));
    case Round::kRna:
      return rest >= half;
    case Round::kRz:
      return false;
    case Round::kRm:
      return negative & (rest != 0);
    case Round::kRp:
      return !negative & (rest != 0);
    case Round::kOdd:
      return (rest != 0) & ((kept & 1) == 0);
  }
}

// Whether a finite value too large for the format becomes infinite (or else the largest finite
// one).
template <Round R>
constexpr bool OverflowsToInfinity(bool negative) {
  switch (R) {
    case Round::kRn:
    case Round::kRna:
      return true;
    case Round::kRz:
    case Round::kOdd:
      return false;
    case Round::kRm:
      return negative;
    case Round::kRp:
      return !negative;
  }
}

// The magnitude of a finite f32 in a format of kExp exponent and kMant mantissa bits, kMant < 23,
// with an exponent range that goes on without end: the caller deals with what is above its largest
// finite value. Subnormals of the narrow format are handled.
template <int kExp, int kMant, Round R>
constexpr uint32_t NarrowMagnitude(uint32_t bits) {
  constexpr int kBias = (1 << (kExp - 1)) - 1;
  constexpr int kMinNormal = 128 - kBias;  // biased f32 exponent of the smallest normal
  const bool negative = (bits >> 31) != 0;
  const int field = static_cast<int>((bits >> 23) & 0xff);
  const uint32_t mantissa = (bits & 0x7fffff) | (field != 0 ? 0x800000u : 0u);
  const int exponent = field != 0 ? field : 1;
  int below = kMinNormal - exponent;
  below = below > 0 ? below : 0;
  // 26 shifts all 24 bits below the half place, so more makes no difference.
  constexpr int kShift = 23 - kMant;
  const int shift = kShift + below < 26 ? kShift + below : 26;
  const uint32_t kept = mantissa >> shift;
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  const uint32_t half = 1u << (shift - 1);
  const int above = exponent > kMinNormal ? exponent - kMinNormal : 0;
  return (static_cast<uint32_t>(above) << kMant) + kept +
         (RoundsUp<R>(kept, rest, half, negative) ? 1u : 0u);
}

// An IEEE-like format with infinities. `nan` is the NaN to return.
template <int kExp, int kMant, Round R>
constexpr uint32_t NarrowIeee(uint32_t bits, uint32_t nan) {
  constexpr uint32_t kInfinity = ((1u << kExp) - 1) << kMant;
  const bool negative = (bits >> 31) != 0;
  const uint32_t magnitude_in = bits & 0x7fffffff;
  uint32_t magnitude = NarrowMagnitude<kExp, kMant, R>(bits);
  const uint32_t overflow = OverflowsToInfinity<R>(negative) ? kInfinity : kInfinity - 1;
  magnitude = magnitude >= kInfinity ? overflow : magnitude;
  magnitude = magnitude_in == 0x7f800000 ? kInfinity : magnitude;
  const uint32_t result = magnitude | (negative ? 1u << (kExp + kMant) : 0u);
  return magnitude_in > 0x7f800000 ? nan : result;
}

template <Round R = Round::kRn>
constexpr F16 F16FromF32(float x) {
  return {static_cast<uint16_t>(NarrowIeee<5, 10, R>(Bits<uint32_t>(x), kF16Nan))};
}

template <Round R = Round::kRn>
constexpr BF16 BF16FromF32(float x) {
  const uint32_t bits = Bits<uint32_t>(x);
  if constexpr (R == Round::kRn) {
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return {static_cast<uint16_t>(IsNan(x) ? kBF16Nan : rounded)};
  }
  return {static_cast<uint16_t>(NarrowIeee<8, 7, R>(bits, kBF16Nan))};
}

// tf32 lives in an f32 register with the low 13 bits zero.
template <Round R = Round::kRna>
constexpr float TF32FromF32(float x) {
  return Bits<float>(IsNan(x) ? kF32Nan : NarrowIeee<8, 10, R>(Bits<uint32_t>(x), 0) << 13);
}

constexpr float F32FromF16(F16 h) {
  const uint32_t magnitude = static_cast<uint32_t>(h.bits & 0x7fff) << 13;
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000) << 16;
  // A subnormal is put below the exponent of 2^-14 as if it had the implicit one, which is
  // subtracted.
  const float subnormal = Bits<float>(magnitude + (113u << 23)) - 0x1p-14f;
  const uint32_t normal = magnitude + (112u << 23);
  const uint32_t special = magnitude + (224u << 23);
  const uint32_t result = magnitude >= (31u << 23) ? special
                          : magnitude < (1u << 23) ? Bits<uint32_t>(subnormal)
                                                   : normal;
  return Bits<float>(IsNan(h) ? kF32Nan : result | sign);
}

constexpr float F32FromBF16(BF16 h) {
  return Bits<float>(IsNan(h) ? kF32Nan : static_cast<uint32_t>(h.bits) << 16);
}

constexpr float ToF32(F16 x) { return F32FromF16(x); }
constexpr float ToF32(BF16 x) { return F32FromBF16(x); }
template <typename Half, Round R = Round::kRn>
constexpr Half HalfFromF32(float x) {
  if constexpr (std::is_same_v<Half, F16>) {
    return F16FromF32<R>(x);
  } else {
    return BF16FromF32<R>(x);
  }
}

// One unit in the last place towards and away from zero; x is finite or infinite.
constexpr float StepIn(float x) { return Bits<float>(Bits<uint32_t>(x) - 1); }
constexpr float StepOut(float x) { return Bits<float>(Bits<uint32_t>(x) + 1); }

// The f32 nearest to the exact value `sum` + `rest` in the given direction, where `sum` is the
// nearest double of that value, so |rest| is at most half its last place. The nearest float is
// never on the far side of a neighbour, because every float is a double: one step corrects it.
template <Round R>
constexpr float NarrowF64(double sum, double rest = 0.0) {
  const float nearest = static_cast<float>(sum);
  const double back = nearest;
  const bool above = (back > sum) | ((back == sum) & (rest < 0.0));
  const bool below = (back < sum) | ((back == sum) & (rest > 0.0));
  const bool negative = (Bits<uint32_t>(nearest) >> 31) != 0;
  const bool too_large = negative ? below : above;
  const bool too_small = negative ? above : below;
  switch (R) {
    case Round::kRn:
    case Round::kRna:
      return nearest;
    case Round::kRz:
      return too_large ? StepIn(nearest) : nearest;
    case Round::kRm:
      return above ? (negative ? StepOut(nearest) : StepIn(nearest)) : nearest;
    case Round::kRp:
      return below ? (negative ? StepIn(nearest) : StepOut(nearest)) : nearest;
    case Round::kOdd: {
      const bool even = (Bits<uint32_t>(nearest) & 1) == 0;
      const float outward = (even & too_small) ? StepOut(nearest) : nearest;
      return (even & too_large) ? StepIn(nearest) : outward;
    }
  }
}

// x + y = sum + rest exactly (Knuth); no operand may be so large that the sum overflows.
struct TwoSum {
  double sum;
  double rest;
};
constexpr TwoSum AddExactly(double x, double y) {
  const double sum = x + y;
  const double y_part = sum - x;
  return {sum, (x - (sum - y_part)) + (y - y_part)};
}

// The double nearest to sum + rest in "round to odd": rounding it once more to at most 51 bits
// gives what a single rounding of the exact value would.
constexpr double OddF64(TwoSum x) {
  const uint64_t bits = Bits<uint64_t>(x.sum);
  const bool inexact = (x.rest > 0.0) | (x.rest < 0.0);
  const bool outward = (x.rest > 0.0) == (x.sum > 0.0);
  const uint64_t odd = outward ? bits + 1 : bits - 1;
  return Bits<double>((inexact & ((bits & 1) == 0)) ? odd : bits);
}

template <typename Half, Round R = Round::kRn>
constexpr Half HalfFromF64(double x) {
  return HalfFromF32<Half, R>(NarrowF64<Round::kOdd>(x));
}

}  // namespace KS_MATH_ISA
}  // namespace kernelsmith::vgpu::math
