#include "vgpu/math/round.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "vgpu/math/minifloat.h"
#include "vgpu/math/testing.h"

namespace kernelsmith::vgpu::math {
namespace {

TEST(Round, EveryF16WidensToItsValue) {
  for (uint32_t code = 0; code < 0x7c00; ++code) {
    const auto expected = static_cast<float>(DecodeIeee(code, 5, 10));
    ASSERT_EQ(F32FromF16({static_cast<uint16_t>(code)}), expected) << code;
    ASSERT_EQ(F32FromF16({static_cast<uint16_t>(code | 0x8000)}), -expected) << code;
  }
  EXPECT_EQ(F32FromF16({0x7c00}), std::numeric_limits<float>::infinity());
  EXPECT_EQ(F32FromF16({0xfc00}), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(Bits<uint32_t>(F32FromF16({0x8000})), 0x80000000u);
  for (uint32_t code = 0x7c01; code < 0x8000; ++code) {
    ASSERT_EQ(Bits<uint32_t>(F32FromF16({static_cast<uint16_t>(code)})), kF32Nan);
  }
}

// At, just beside and in the middle between any two neighbours of the format, in both signs.
template <typename Check>
void AroundEveryCode(uint32_t max_code, int exponent_bits, int mantissa_bits, Check check) {
  for (uint32_t code = 0; code <= max_code; ++code) {
    const double low = DecodeIeee(code, exponent_bits, mantissa_bits);
    const double high = DecodeIeee(code + 1, exponent_bits, mantissa_bits);
    for (const double x : {low, low + (high - low) / 2, high}) {
      const auto f = static_cast<float>(x);
      for (const float y : {f, std::nextafterf(f, 0.0f), std::nextafterf(f, 1e38f)}) {
        check(y);
        check(-y);
      }
    }
  }
}

template <Round R>
void CheckF16(float x) {
  if (!std::isfinite(x)) return;
  const uint32_t expected = F16Table().Encode(x, R) | (std::signbit(x) ? 0x8000 : 0);
  ASSERT_EQ(F16FromF32<R>(x).bits, expected) << std::hexfloat << x;
}
template <Round R>
void CheckBF16(float x) {
  if (!std::isfinite(x)) return;
  const uint32_t expected = BF16Table().Encode(x, R) | (std::signbit(x) ? 0x8000 : 0);
  ASSERT_EQ(BF16FromF32<R>(x).bits, expected) << std::hexfloat << x;
}

TEST(Round, F32ToF16AroundEveryValue) {
  AroundEveryCode(0x7bff, 5, 10, CheckF16<Round::kRn>);
  AroundEveryCode(0x7bff, 5, 10, CheckF16<Round::kRz>);
  AroundEveryCode(0x7bff, 5, 10, CheckF16<Round::kRm>);
  AroundEveryCode(0x7bff, 5, 10, CheckF16<Round::kRp>);
  AroundEveryCode(0x7bff, 5, 10, CheckF16<Round::kRna>);
  AroundEveryCode(0x7bff, 5, 10, CheckF16<Round::kOdd>);
}

TEST(Round, F32ToBF16AroundEveryValue) {
  AroundEveryCode(0x7f7e, 8, 7, CheckBF16<Round::kRn>);
  AroundEveryCode(0x7f7e, 8, 7, CheckBF16<Round::kRz>);
  AroundEveryCode(0x7f7e, 8, 7, CheckBF16<Round::kRm>);
  AroundEveryCode(0x7f7e, 8, 7, CheckBF16<Round::kRp>);
  CheckBF16<Round::kRn>(std::numeric_limits<float>::max());
  CheckBF16<Round::kRz>(std::numeric_limits<float>::max());
  CheckBF16<Round::kRm>(-std::numeric_limits<float>::max());
}

TEST(Round, SpecialsToHalves) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(F16FromF32(infinity).bits, 0x7c00);
  EXPECT_EQ(F16FromF32<Round::kRz>(-infinity).bits, 0xfc00);
  EXPECT_EQ(F16FromF32(-std::nanf("")).bits, kF16Nan);
  EXPECT_EQ(BF16FromF32(infinity).bits, 0x7f80);
  EXPECT_EQ(BF16FromF32(std::nanf("")).bits, kBF16Nan);
  EXPECT_EQ(F16FromF32(65504.0f).bits, 0x7bff);
  EXPECT_EQ(F16FromF32(65519.9f).bits, 0x7bff);
  EXPECT_EQ(F16FromF32(65520.0f).bits, 0x7c00);
  EXPECT_EQ(F16FromF32<Round::kRz>(1e30f).bits, 0x7bff);
  EXPECT_EQ(F16FromF32(-0.0f).bits, 0x8000);
}

TEST(Round, TF32TiesAwayAndToEven) {
  // 1 + 2^-11 is the middle between 1 and 1 + 2^-10.
  EXPECT_EQ(TF32FromF32<Round::kRna>(1.0f + 0x1p-11f), 1.0f + 0x1p-10f);
  EXPECT_EQ(TF32FromF32<Round::kRn>(1.0f + 0x1p-11f), 1.0f);
  EXPECT_EQ(TF32FromF32<Round::kRn>(1.0f + 0x1.8p-10f), 1.0f + 0x1p-9f);
  EXPECT_EQ(TF32FromF32<Round::kRz>(-1.0f - 0x1.ffp-10f), -1.0f - 0x1p-10f);
  EXPECT_EQ(Bits<uint32_t>(TF32FromF32(std::nanf(""))), kF32Nan);
  // Subnormals keep the spacing 2^-136.
  EXPECT_EQ(TF32FromF32(0x1p-136f), 0x1p-136f);
  EXPECT_EQ(TF32FromF32(0x1p-137f), 0x1p-136f);
  EXPECT_EQ(TF32FromF32<Round::kRn>(0x1p-137f), 0.0f);
}

TEST(Round, F64ToF32InEveryDirection) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 400000; ++i) {
    const auto f = Bits<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(f)) continue;
    // A double beside a float, so that both exact and nearly exact values occur.
    const double d =
        Bits<double>(Bits<uint64_t>(double{f}) + random() % 7 - 3 + (random() % 2 << 28));
    if (!std::isfinite(d) || std::fabs(d) >= 0x1p128) continue;
    float below = static_cast<float>(d);
    if (double{below} > d) below = std::nextafterf(below, -INFINITY);
    float above = static_cast<float>(d);
    if (double{above} < d) above = std::nextafterf(above, INFINITY);
    ASSERT_EQ(NarrowF64<Round::kRm>(d), below);
    ASSERT_EQ(NarrowF64<Round::kRp>(d), above);
    ASSERT_EQ(NarrowF64<Round::kRz>(d), d > 0 ? below : above);
    const float odd = below == above || (Bits<uint32_t>(below) & 1) != 0 ? below : above;
    ASSERT_EQ(NarrowF64<Round::kOdd>(d), odd);
  }
  EXPECT_EQ(NarrowF64<Round::kRz>(1e300), std::numeric_limits<float>::max());
  EXPECT_EQ(NarrowF64<Round::kRp>(1e300), std::numeric_limits<float>::infinity());
  EXPECT_EQ(NarrowF64<Round::kRm>(-1e-300), -std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(Bits<uint32_t>(NarrowF64<Round::kRp>(-1e-300)), 0x80000000u);
}

template <typename Format>
double DecodeMini(uint32_t code) {
  return DecodeIeee(code, Format::kExponentBits, Format::kMantissaBits);
}

template <typename Format>
void CheckMini() {
  const FormatTable table(Format::kMax, DecodeMini<Format>);
  for (uint32_t code = 0; code <= Format::kMax; ++code) {
    const auto value = static_cast<float>(DecodeMini<Format>(code));
    const uint32_t sign = 1u << (Format::kBits - 1);
    ASSERT_EQ(F32FromMini<Format>(code), value);
    ASSERT_EQ(F32FromMini<Format>(code | sign), -value);
    ASSERT_EQ(MiniFromF32<Format>(value), code);
    ASSERT_EQ(MiniFromF32<Format>(-value), code | sign);
  }
  std::mt19937_64 random(2);
  for (int i = 0; i < 200000; ++i) {
    const auto exponent = static_cast<int>(random() % 40) - 24;
    const float x = std::ldexp(static_cast<float>(random() % 4096), exponent - 6);
    const uint32_t expected = std::min(table.Encode(x, Round::kRn), Format::kMax);
    ASSERT_EQ(MiniFromF32<Format>(x), expected) << x;
    ASSERT_EQ((MiniFromF32<Format, true>(-x)), 0u);
  }
  EXPECT_EQ(MiniFromF32<Format>(INFINITY), Format::kMax);
}

TEST(Minifloat, EveryFormatRoundsToNearestAndSaturates) {
  CheckMini<E4M3>();
  CheckMini<E5M2>();
  CheckMini<E2M3>();
  CheckMini<E3M2>();
  CheckMini<E2M1>();
  EXPECT_EQ(MiniFromF32<E4M3>(std::nanf("")), 0x7fu);
  EXPECT_EQ(MiniFromF32<E5M2>(-std::nanf("")), 0x7fu);
  EXPECT_TRUE(std::isnan(F32FromMini<E4M3>(0xff)));
  EXPECT_EQ(F32FromMini<E5M2>(0xfc), -INFINITY);
  EXPECT_EQ(F32FromMini<E4M3>(0x7e), 448.0f);
  EXPECT_EQ(F32FromMini<E5M2>(0x7b), 57344.0f);
  EXPECT_EQ(F32FromMini<E2M1>(7), 6.0f);
}

TEST(Minifloat, PackedOrder) {
  EXPECT_EQ(CvtPackMini<E4M3>(1.0f, 2.0f), 0x3840);  // 1.0 = 0x38 high, 2.0 = 0x40 low
  EXPECT_EQ((CvtPackHalf<F16x2>(1.0f, 2.0f).bits), 0x3c004000u);
  EXPECT_EQ((CvtPackHalf<BF16x2>(1.0f, 2.0f).bits), 0x3f804000u);
  EXPECT_EQ((CvtMiniToPair<E4M3>(0x3840).bits), 0x3c004000u);
  EXPECT_EQ((CvtPairToMini<E5M2>(F16x2{0x3c004000u})), 0x3c40);
  EXPECT_EQ(CvtPackMini<E2M1>(6.0f, 0.5f), 0x71);
  EXPECT_EQ((CvtPackSat<16, true>(100000, -5)), 0x7ffffffbu);
  EXPECT_EQ((CvtPackSat<8, false>(300, -5, 0x1234)), 0x1234ff00u);
  EXPECT_EQ((CvtPackSat<8, true>(-300, 5, 0xabcd)), 0xabcd8005u);
  EXPECT_EQ((CvtPackSat<4, false>(3, 99, 0x12)), 0x123fu);
}

}  // namespace
}  // namespace kernelsmith::vgpu::math
