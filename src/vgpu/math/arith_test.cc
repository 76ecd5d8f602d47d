#include "vgpu/math/arith.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

#include "vgpu/math/compare.h"
#include "vgpu/math/testing.h"

// The reference for directed f32 is the host's own rounding mode, which the code under test never
// uses.
#pragma STDC FENV_ACCESS ON

namespace kernelsmith::vgpu::math {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Numbers near interesting boundaries, as well as any bits.
float RandomF32(std::mt19937_64& random) {
  static const uint32_t kEdges[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff,
                                    0x00800000, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001,
                                    0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                    0x4b800000, 0x33800000, 0x7e800000, 0x34000000, 0x00000003};
  switch (random() % 4) {
    case 0:
      return Bits<float>(kEdges[random() % std::size(kEdges)]);
    case 1:  // exponents near 1, so that sums cancel and overlap
      return Bits<float>(
          static_cast<uint32_t>((random() & 0x807fffff) | (uint32_t(110 + random() % 34) << 23)));
    case 2:  // few bits: exact results
      return std::ldexp(static_cast<float>(static_cast<int>(random() % 512) - 256),
                        static_cast<int>(random() % 60) - 30);
    default:
      return Bits<float>(static_cast<uint32_t>(random()));
  }
}

int HostMode(Round round) {
  switch (round) {
    case Round::kRz:
      return FE_TOWARDZERO;
    case Round::kRm:
      return FE_DOWNWARD;
    case Round::kRp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

// NaNs compare as the canonical one.
uint32_t Expected(float x) { return std::isnan(x) ? kF32Nan : Bits<uint32_t>(x); }

template <Round R>
void CheckF32() {
  using M = Mode<R>;
  std::mt19937_64 random(static_cast<uint64_t>(R) + 10);
  for (int i = 0; i < 500000; ++i) {
    const volatile float a = RandomF32(random);
    const volatile float b = RandomF32(random);
    const volatile float c = random() % 4 == 0 ? -a * b : RandomF32(random);
    fesetround(HostMode(R));
    const volatile float add = a + b;
    const volatile float sub = a - b;
    const volatile float mul = a * b;
    const volatile float div = a / b;
    const volatile float sqrt = std::sqrt(a);
    const volatile float fma = std::fmaf(a, b, c);
    const volatile float rcp = 1.0f / a;
    fesetround(FE_TONEAREST);
    const auto where = [&] {
      return ::testing::Message() << std::hexfloat << a << ' ' << b << ' ' << c;
    };
    ASSERT_EQ(Bits<uint32_t>(Add<M>(a, b)), Expected(add)) << where();
    ASSERT_EQ(Bits<uint32_t>(Sub<M>(a, b)), Expected(sub)) << where();
    ASSERT_EQ(Bits<uint32_t>(Mul<M>(a, b)), Expected(mul)) << where();
    ASSERT_EQ(Bits<uint32_t>(Div<M>(a, b)), Expected(div)) << where();
    ASSERT_EQ(Bits<uint32_t>(Sqrt<M>(a)), Expected(sqrt)) << where();
    ASSERT_EQ(Bits<uint32_t>(Fma<M>(a, b, c)), Expected(fma)) << where();
    ASSERT_EQ(Bits<uint32_t>(Rcp<M>(a)), Expected(rcp)) << where();
  }
}

TEST(Arith, F32ToNearest) { CheckF32<Round::kRn>(); }
TEST(Arith, F32TowardsZero) { CheckF32<Round::kRz>(); }
TEST(Arith, F32Down) { CheckF32<Round::kRm>(); }
TEST(Arith, F32Up) { CheckF32<Round::kRp>(); }

TEST(Arith, FtzAndSat) {
  using Ftz = Mode<Round::kRn, true>;
  using Sat = Mode<Round::kRn, false, true>;
  EXPECT_EQ(Add<Ftz>(0x1p-127f, 0x1p-127f), 0.0f);  // both operands vanish
  EXPECT_EQ(Bits<uint32_t>(Mul<Ftz>(-0x1p-100f, 0x1p-30f)), 0x80000000u);
  EXPECT_EQ(Mul<Mode<>>(-0x1p-100f, 0x1p-30f), -0x1p-130f);
  EXPECT_EQ(Fma<Ftz>(0x1p-100f, 0x1p-30f, 0x1p-126f), 0x1p-126f + 0x1p-130f);
  EXPECT_EQ(Add<Sat>(0.75f, 0.5f), 1.0f);
  EXPECT_EQ(Bits<uint32_t>(Add<Sat>(-0.75f, 0.5f)), 0u);
  EXPECT_EQ(Bits<uint32_t>(Add<Sat>(kInf, -kInf)), 0u);
  EXPECT_EQ(Add<Sat>(0.25f, 0.5f), 0.75f);
}

TEST(Arith, F64DirectedBracketsTheExactValue) {
  std::mt19937_64 random(3);
  const auto draw = [&] {
    return std::ldexp(static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63,
                      static_cast<int>(random() % 40) - 20);
  };
  // Exactly one of the two neighbours in each direction is right: r is the largest double <= exact.
  const auto check = [&](double down, double up, double zero, __float128 exact) {
    ASSERT_LE(down, exact);
    ASSERT_GT(std::nextafter(down, INFINITY), exact);
    ASSERT_GE(up, exact);
    ASSERT_LT(std::nextafter(up, -INFINITY), exact);
    ASSERT_EQ(zero, exact > 0 ? down : up);
  };
  using Rm = Mode<Round::kRm>;
  using Rp = Mode<Round::kRp>;
  using Rz = Mode<Round::kRz>;
  for (int i = 0; i < 100000; ++i) {
    const double a = draw();
    const double b = draw();
    const double c = draw();
    const __float128 qa = a;
    check(Add<Rm>(a, b), Add<Rp>(a, b), Add<Rz>(a, b), qa + b);
    check(Sub<Rm>(a, b), Sub<Rp>(a, b), Sub<Rz>(a, b), qa - b);
    check(Mul<Rm>(a, b), Mul<Rp>(a, b), Mul<Rz>(a, b), qa * b);
    if (std::fabs(c) > std::fabs(a * b) * 0x1p-6 && std::fabs(c) < std::fabs(a * b) * 64) {
      check(Fma<Rm>(a, b, c), Fma<Rp>(a, b, c), Fma<Rz>(a, b, c), qa * b + c);
    }
    // The quotient through its exact product with b.
    if (b > 0) {
      ASSERT_LE(static_cast<__float128>(Div<Rm>(a, b)) * b, qa);
      ASSERT_GE(static_cast<__float128>(Div<Rp>(a, b)) * b, qa);
      ASSERT_GT(static_cast<__float128>(std::nextafter(Div<Rm>(a, b), INFINITY)) * b, qa);
    }
    if (a > 0) {
      const __float128 root = Sqrt<Rm>(a);
      ASSERT_LE(root * root, qa);
      const __float128 next = std::nextafter(Sqrt<Rm>(a), INFINITY);
      ASSERT_GT(next * next, qa);
    }
  }
}

TEST(Arith, F64Nans) {
  const auto payload = Bits<double>(uint64_t{0x7ff0000000000123});
  EXPECT_EQ(Bits<uint64_t>(Add(payload, 1.0)), 0x7ff8000000000123u);
  EXPECT_EQ(Bits<uint64_t>(Add(1.0, payload)), 0x7ff8000000000123u);
  EXPECT_EQ(Bits<uint64_t>(Sub(INFINITY * 1.0, INFINITY * 1.0)), kF64Indefinite);
  EXPECT_EQ(Bits<uint64_t>(Sqrt(-1.0)), kF64Indefinite);
  EXPECT_EQ(Bits<uint64_t>(Div(0.0, 0.0)), kF64Indefinite);
}

// ---- halves ----

template <typename Half>
const FormatTable& Table() {
  if constexpr (std::is_same_v<Half, F16>) {
    return F16Table();
  } else {
    return BF16Table();
  }
}

template <typename Half>
bool Finite(Half x) {
  return std::isfinite(ToF32(x));
}

template <typename Half>
void ExpectHalf(Half actual, __float128 exact, bool negative_zero) {
  const uint32_t code = Table<Half>().Encode(exact, Round::kRn);
  const uint32_t sign = exact < 0 || (exact == 0 && negative_zero) ? 0x8000 : 0;
  ASSERT_EQ(actual.bits, code | sign);
}

// x + y, or a sum that rounds alike: a term too small for the 113 bits only matters as more than
// none.
__float128 SumForRounding(__float128 x, __float128 y) {
  const __float128 ax = x < 0 ? -x : x;
  const __float128 ay = y < 0 ? -y : y;
  if (y != 0 && ay < ax * 0x1p-90) y = (y < 0 ? -ax : ax) * 0x1p-60;
  if (x != 0 && ax < ay * 0x1p-90) x = (x < 0 ? -ay : ay) * 0x1p-60;
  return x + y;
}

template <typename Half>
void CheckHalf(int exponent_low, int exponent_span) {
  std::mt19937_64 random(4);
  const auto draw = [&]() -> Half {
    if (random() % 8 == 0) return {static_cast<uint16_t>(random())};
    // Ties and near ties need related exponents.
    constexpr int kMant = std::is_same_v<Half, F16> ? 10 : 7;
    const auto exponent = static_cast<uint32_t>(
        exponent_low + static_cast<int>(random() % static_cast<uint64_t>(exponent_span)));
    return {static_cast<uint16_t>((random() & ((1u << kMant) - 1)) | exponent << kMant |
                                  (random() & 0x8000))};
  };
  for (int i = 0; i < 200000; ++i) {
    const Half a = draw();
    const Half b = draw();
    const Half c = draw();
    if (!Finite(a) || !Finite(b) || !Finite(c)) continue;
    const __float128 x = ToF32(a);
    const __float128 y = ToF32(b);
    const __float128 z = ToF32(c);
    const bool sa = (a.bits & 0x8000) != 0;
    const bool sb = (b.bits & 0x8000) != 0;
    const bool sc = (c.bits & 0x8000) != 0;
    ExpectHalf(Add(a, b), x + y, sa && sb);
    ExpectHalf(Sub(a, b), x - y, sa && !sb);
    // A product that underflows keeps the sign of the exact value.
    ExpectHalf(Mul(a, b), x * y, sa != sb);
    ExpectHalf(Fma(a, b, c), SumForRounding(x * y, z), sa != sb && sc);
  }
}

TEST(Arith, F16RoundsOnce) {
  CheckHalf<F16>(8, 14);
  CheckHalf<F16>(0, 6);
}
TEST(Arith, BF16RoundsOnce) {
  CheckHalf<BF16>(118, 20);
  CheckHalf<BF16>(55, 20);  // products reach the subnormals
}

TEST(Arith, F16FmaThatDoubleRoundingGetsWrong) {
  // 1.0009765625^2 is 1 + 2^-9 + 2^-20: the sum with 2^-11 more lies just above a tie of f16.
  const F16 a = {0x3c01};
  ExpectHalf(Fma(a, a, F16{0x1000}), __float128(1.0009765625) * 1.0009765625 + 0x1p-11, false);
  // 2048 * 1.5 + 2^-24 is above the tie 3072.0000: the tiny addend decides.
  EXPECT_EQ(Fma(F16{0x6801}, F16{0x3c00}, F16{0x0001}).bits, 0x6801);
  // 1025 * 2.001953125 + 2^-24 = 2052.00195 + ... nearest is 2052.
  ExpectHalf(Fma(F16{0x6401}, F16{0x4001}, F16{0x0001}), __float128(1025) * 2.001953125 + 0x1p-24,
             false);
}

TEST(Arith, HalfModes) {
  using Sat = Mode<Round::kRn, false, true>;
  using Ftz = Mode<Round::kRn, true>;
  using Rel = Mode<Round::kRn, false, false, true>;
  EXPECT_EQ(Add<Sat>(F16{0x3c00}, F16{0x3c00}).bits, 0x3c00);
  EXPECT_EQ(Add<Sat>(F16{0xbc00}, F16{0x0000}).bits, 0);
  EXPECT_EQ(Add<Sat>(F16{0x7e00}, F16{0x0000}).bits, 0);
  EXPECT_EQ(Add<Ftz>(F16{0x0001}, F16{0x0001}).bits, 0);
  EXPECT_EQ(Mul<Ftz>(F16{0x8400}, F16{0x3800}).bits, 0x8000);  // -2^-14 / 2
  EXPECT_EQ(Fma<Rel>(F16{0xbc00}, F16{0x3c00}, F16{0}).bits, 0);
  EXPECT_EQ(Fma<Rel>(F16{0x7e01}, F16{0x3c00}, F16{0}).bits, kF16Nan);
  EXPECT_EQ(Fma<Rel>(BF16{0x3f80}, BF16{0x4000}, BF16{0x3f80}).bits, 0x4040);
  EXPECT_EQ(Add(F16{0x7c00}, F16{0xfc00}).bits, kF16Nan);
  EXPECT_EQ((Add(F16x2{0x3c004000u}, F16x2{0x40003c00u}).bits), 0x42004200u);
}

// ---- comparisons, min, max ----

TEST(Compare, OrderedAndUnordered) {
  const float nan = std::nanf("");
  EXPECT_TRUE((Compare<Cmp::kEq>(-0.0f, 0.0f)));
  EXPECT_FALSE((Compare<Cmp::kNe>(nan, 1.0f)));
  EXPECT_TRUE((Compare<Cmp::kNeu>(nan, 1.0f)));
  EXPECT_TRUE((Compare<Cmp::kEqu>(nan, 1.0f)));
  EXPECT_TRUE((Compare<Cmp::kLtu>(1.0f, nan)));
  EXPECT_FALSE((Compare<Cmp::kLt>(1.0f, nan)));
  EXPECT_TRUE((Compare<Cmp::kNum>(1.0, 2.0)));
  EXPECT_TRUE((Compare<Cmp::kNan>(F16{0x7e00}, F16{0})));
  EXPECT_TRUE((Compare<Cmp::kGeu>(2.0f, 2.0f)));
  EXPECT_FALSE((Compare<Cmp::kGtu>(2.0f, 2.0f)));
  EXPECT_TRUE((Compare<Cmp::kEq, true>(0x1p-130f, 0.0f)));
  EXPECT_FALSE((Compare<Cmp::kEq, false>(0x1p-130f, 0.0f)));
  EXPECT_TRUE((Compare<Cmp::kLt>(int32_t{-1}, int32_t{0})));
  EXPECT_FALSE((Compare<Cmp::kLt>(uint32_t{0xffffffff}, uint32_t{0})));
  EXPECT_TRUE((Compare<Cmp::kNe>(int16_t{3}, int16_t{4})));
}

TEST(Compare, MinMax) {
  const float nan = Bits<float>(0xffc00001u);
  EXPECT_EQ(Bits<uint32_t>(Min(0.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(Bits<uint32_t>(Max(-0.0f, 0.0f)), 0u);
  EXPECT_EQ(Min(nan, 3.0f), 3.0f);
  EXPECT_EQ(Max(3.0f, nan), 3.0f);
  EXPECT_EQ(Bits<uint32_t>(Max(nan, nan)), kF32Nan);
  EXPECT_EQ(Bits<uint32_t>((Max<false, true>(nan, 3.0f))), kF32Nan);
  EXPECT_EQ((Min<false, false, true>(-3.0f, 2.0f)), -2.0f);
  EXPECT_EQ((Max<false, false, true>(-3.0f, -2.0f)), 3.0f);
  EXPECT_EQ((Max<true>(0x1p-130f, -1.0f)), 0.0f);
  EXPECT_EQ(Min(F16{0x3c00}, F16{0xbc00}).bits, 0xbc00);
  EXPECT_EQ(Max(BF16{0x7fff}, BF16{0xbf80}).bits, 0xbf80);
  EXPECT_EQ((Max<false, true>(F16{0x7e00}, F16{0x3c00}).bits), kF16Nan);
  EXPECT_EQ(Max(2.0, Bits<double>(uint64_t{0x7ff8000000000000})), 2.0);
  EXPECT_EQ((MinMax3<true>(1.0f, 5.0f, 3.0f)), 5.0f);
  EXPECT_EQ((MinMax3<false, false, false, true>(1.0f, -0.5f, 3.0f)), 0.5f);
  EXPECT_EQ(Max(int64_t{-5}, int64_t{3}), 3);
}

TEST(Compare, SignsAndClasses) {
  EXPECT_EQ(CopySign(-1.0f, 2.0f), -2.0f);
  EXPECT_EQ(CopySign(1.0, -2.0), 2.0);
  EXPECT_EQ(Bits<uint32_t>(NegInsn(0.0f)), 0x80000000u);
  EXPECT_EQ(AbsInsn<true>(-0x1p-130f), 0.0f);
  EXPECT_EQ((AbsInsn(F16x2{0xbc00fc00u}).bits), 0x3c007c00u);
  EXPECT_TRUE(TestP<FloatClass::kFinite>(1.0f));
  EXPECT_FALSE(TestP<FloatClass::kFinite>(kInf));
  EXPECT_TRUE(TestP<FloatClass::kInfinite>(-kInf));
  EXPECT_TRUE(TestP<FloatClass::kNumber>(kInf));
  EXPECT_TRUE(TestP<FloatClass::kNotANumber>(std::nan("")));
  EXPECT_TRUE(TestP<FloatClass::kSubnormal>(0x1p-130f));
  EXPECT_FALSE(TestP<FloatClass::kSubnormal>(0.0f));
  EXPECT_TRUE(TestP<FloatClass::kNormal>(0x1p-1022));
  EXPECT_FALSE(TestP<FloatClass::kNormal>(0.0));
}

}  // namespace
}  // namespace kernelsmith::vgpu::math
