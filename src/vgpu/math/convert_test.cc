#include "vgpu/math/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "vgpu/math/testing.h"

namespace kernelsmith::vgpu::math {
namespace {

template <Round R>
using Integral = CvtMode<R, true>;
using Sat = CvtMode<Round::kRn, false, false, true>;

TEST(Convert, IntToInt) {
  EXPECT_EQ((Cvt<int8_t>(int32_t{0x1ff})), -1);
  EXPECT_EQ((Cvt<uint8_t, Sat>(int32_t{300})), 255);
  EXPECT_EQ((Cvt<uint8_t, Sat>(int32_t{-5})), 0);
  EXPECT_EQ((Cvt<int8_t, Sat>(int32_t{-500})), -128);
  EXPECT_EQ((Cvt<int8_t, Sat>(uint32_t{0xffffffff})), 127);
  EXPECT_EQ((Cvt<int16_t, Sat>(int64_t{-40000})), -32768);
  EXPECT_EQ((Cvt<int32_t, Sat>(uint32_t{0x80000000})), 0x7fffffff);
  EXPECT_EQ((Cvt<uint32_t, Sat>(int64_t{1} << 40)), 0xffffffffu);
  EXPECT_EQ((Cvt<uint64_t, Sat>(int32_t{-1})), 0u);
  EXPECT_EQ((Cvt<uint64_t>(int32_t{-1})), ~uint64_t{0});
  EXPECT_EQ((Cvt<int64_t>(uint32_t{0xffffffff})), 0xffffffff);
  EXPECT_EQ((Cvt<int64_t, Sat>(~uint64_t{0})), std::numeric_limits<int64_t>::max());
  EXPECT_EQ((Cvt<int64_t, Sat>(int32_t{-7})), -7);
  EXPECT_EQ((Cvt<int32_t, Sat>(int8_t{-7})), -7);
}

TEST(Convert, FloatToIntRoundsSaturatesAndMapsNan) {
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRz>>(-2.7f)), -2);
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRn>>(2.5f)), 2);
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRn>>(3.5f)), 4);
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRm>>(-2.1f)), -3);
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRp>>(2.1f)), 3);
  EXPECT_EQ((Cvt<uint32_t, Integral<Round::kRz>>(-0.9f)), 0u);
  EXPECT_EQ((Cvt<uint32_t, Integral<Round::kRz>>(-5.0f)), 0u);
  EXPECT_EQ((Cvt<uint32_t, Integral<Round::kRz>>(4e9f)), 4000000000u);
  EXPECT_EQ((Cvt<uint32_t, Integral<Round::kRz>>(5e9f)), 0xffffffffu);
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRz>>(3e9f)), 0x7fffffff);
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRz>>(-INFINITY)), std::numeric_limits<int32_t>::min());
  EXPECT_EQ((Cvt<int8_t, Integral<Round::kRz>>(200.0f)), 127);
  EXPECT_EQ((Cvt<uint16_t, Integral<Round::kRn>>(70000.0)), 65535);
  EXPECT_EQ((Cvt<uint64_t, Integral<Round::kRz>>(0x1p63)), uint64_t{1} << 63);
  EXPECT_EQ((Cvt<uint64_t, Integral<Round::kRz>>(0x1p64)), ~uint64_t{0});
  EXPECT_EQ((Cvt<int64_t, Integral<Round::kRz>>(0x1p63f)), std::numeric_limits<int64_t>::max());
  EXPECT_EQ((Cvt<int64_t, Integral<Round::kRz>>(-0x1p63)), std::numeric_limits<int64_t>::min());
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRz>>(2147483647.0)), 2147483647);
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRn>>(2147483647.5)), 2147483647);
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRz>>(F16{0x7c00})), 0x7fffffff);
  EXPECT_EQ((Cvt<int16_t, Integral<Round::kRn>>(F16{0x4100})), 2);     // 2.5
  EXPECT_EQ((Cvt<uint8_t, Integral<Round::kRz>>(BF16{0x4380})), 255);  // 256
  const float nan = std::nanf("");
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRz>>(nan)), 0);
  EXPECT_EQ((Cvt<uint8_t, Integral<Round::kRz>>(nan)), 0);
  EXPECT_EQ((Cvt<int64_t, Integral<Round::kRz>>(nan)), std::numeric_limits<int64_t>::min());
  EXPECT_EQ((Cvt<uint64_t, Integral<Round::kRz>>(nan)), uint64_t{1} << 63);
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRz>>(double{nan})), std::numeric_limits<int32_t>::min());
  EXPECT_EQ((Cvt<uint32_t, Integral<Round::kRz>>(double{nan})), 0x80000000u);
  using Ftz = CvtMode<Round::kRp, true, true>;
  EXPECT_EQ((Cvt<int32_t, Ftz>(0x1p-130f)), 0);
  EXPECT_EQ((Cvt<int32_t, Integral<Round::kRp>>(0x1p-130f)), 1);
}

// Every direction against neighbours found by comparison with the integer itself.
template <typename Float, typename Int>
void CheckFromInt() {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100000; ++i) {
    const auto x = static_cast<Int>(random() >> (random() % (sizeof(Int) * 8 - 1)));
    const __float128 exact = x;
    Float below = static_cast<Float>(x);
    while (below > exact) below = std::nextafter(below, -INFINITY);
    Float above = static_cast<Float>(x);
    while (above < exact) above = std::nextafter(above, INFINITY);
    ASSERT_EQ((Cvt<Float, CvtMode<Round::kRm>>(x)), below) << x;
    ASSERT_EQ((Cvt<Float, CvtMode<Round::kRp>>(x)), above) << x;
    ASSERT_EQ((Cvt<Float, CvtMode<Round::kRz>>(x)), x > 0 ? below : above) << x;
    const __float128 to_below = exact - below;
    const __float128 to_above = above - exact;
    const auto nearest = Cvt<Float, CvtMode<Round::kRn>>(x);
    if (to_below != to_above) ASSERT_EQ(nearest, to_below < to_above ? below : above) << x;
    // To f16 and bf16 in one rounding.
    const uint32_t sign = x < 0 ? 0x8000 : 0;
    ASSERT_EQ((Cvt<F16, CvtMode<Round::kRn>>(x)).bits, F16Table().Encode(exact, Round::kRn) | sign);
    ASSERT_EQ((Cvt<F16, CvtMode<Round::kRz>>(x)).bits, F16Table().Encode(exact, Round::kRz) | sign);
    ASSERT_EQ((Cvt<BF16, CvtMode<Round::kRn>>(x)).bits,
              BF16Table().Encode(exact, Round::kRn) | sign);
    ASSERT_EQ((Cvt<BF16, CvtMode<Round::kRp>>(x)).bits,
              BF16Table().Encode(exact, Round::kRp) | sign);
  }
}

TEST(Convert, IntToFloatInEveryDirection) {
  CheckFromInt<float, int32_t>();
  CheckFromInt<float, uint32_t>();
  CheckFromInt<float, int64_t>();
  CheckFromInt<float, uint64_t>();
  CheckFromInt<double, int64_t>();
  CheckFromInt<double, uint64_t>();
  CheckFromInt<double, int32_t>();
  EXPECT_EQ((Cvt<float, CvtMode<Round::kRz>>(~uint64_t{0})), 0x1.fffffep63f);
  EXPECT_EQ((Cvt<float>(~uint64_t{0})), 0x1p64f);
  EXPECT_EQ((Cvt<float>(int8_t{-128})), -128.0f);
  EXPECT_EQ((Cvt<float, Sat>(int32_t{7})), 1.0f);
  EXPECT_EQ((Cvt<F16>(uint16_t{65535})).bits, 0x7c00);
}

TEST(Convert, FloatToFloat) {
  EXPECT_EQ((Cvt<float, Integral<Round::kRn>>(2.5f)), 2.0f);
  EXPECT_EQ((Cvt<float, Integral<Round::kRm>>(-2.5f)), -3.0f);
  EXPECT_EQ((Cvt<double, Integral<Round::kRp>>(2.1)), 3.0);
  EXPECT_EQ(Bits<uint32_t>(Cvt<float, Integral<Round::kRz>>(-0.5f)), 0x80000000u);
  EXPECT_EQ((Cvt<F16, Integral<Round::kRz>>(F16{0x4100})).bits, 0x4000);
  EXPECT_EQ((Cvt<float, Sat>(2.0f)), 1.0f);
  EXPECT_EQ(Bits<uint32_t>(Cvt<float, Sat>(std::nanf(""))), 0u);
  EXPECT_EQ((Cvt<float, CvtMode<Round::kRz>>(1.0 + 0x1p-24)), 1.0f);
  EXPECT_EQ((Cvt<float, CvtMode<Round::kRp>>(1.0 + 0x1p-52)), 1.0f + 0x1p-23f);
  using Ftz = CvtMode<Round::kRn, false, true>;
  EXPECT_EQ((Cvt<float, Ftz>(0x1p-130)), 0.0f);
  EXPECT_EQ((Cvt<double, Ftz>(0x1p-130f)), 0.0);
  EXPECT_EQ((Cvt<double>(0x1p-130f)), 0x1p-130);
  // 1 + 2^-11 + 2^-40 is above a tie of f16, which rounding to f32 first would hide.
  EXPECT_EQ((Cvt<F16>(1.0 + 0x1p-11 + 0x1p-40)).bits, 0x3c01);
  EXPECT_EQ((Cvt<F16>(1.0 + 0x1p-11)).bits, 0x3c00);
  using Relu = CvtMode<Round::kRn, false, false, false, true>;
  EXPECT_EQ((Cvt<F16, Relu>(-3.0f)).bits, 0);
  EXPECT_EQ((Cvt<BF16, Relu>(std::nanf(""))).bits, kBF16Nan);
  using Satfinite = CvtMode<Round::kRn, false, false, false, false, true>;
  EXPECT_EQ((Cvt<F16, Satfinite>(-1e9f)).bits, 0xfbff);
  EXPECT_EQ((CvtF32ToTF32<Satfinite>(INFINITY)), 0x7f7fe000u);
  EXPECT_EQ((CvtF32ToTF32<CvtMode<Round::kRna>>(1.0f + 0x1p-11f)), 0x3f802000u);
  EXPECT_EQ(Bits<uint32_t>(Cvt<float>(F16{0xfe00})), kF32Nan);
  EXPECT_EQ(Bits<uint32_t>(Cvt<float>(std::nan(""))), kF32Nan);
}

}  // namespace
}  // namespace kernelsmith::vgpu::math
