#include "vgpu/math/approx.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace kernelsmith::vgpu::math {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Calls with about every 4000th float between two, which covers every exponent many times.
void Sweep(float from, float to, const std::function<void(float)>& check) {
  const auto first = Bits<uint32_t>(from);
  const auto last = Bits<uint32_t>(to);
  for (uint64_t bits = first; bits <= last; bits += 3989)
    check(Bits<float>(static_cast<uint32_t>(bits)));
  check(to);
}

void Relative(float actual, long double expected, long double limit, float input) {
  ASSERT_LE(std::fabs(actual - expected), limit * std::fabs(expected)) << std::hexfloat << input;
}
void Absolute(float actual, long double expected, long double limit, float input) {
  ASSERT_LE(std::fabs(actual - expected), limit) << std::hexfloat << input;
}

// The limits are those of the PTX ISA.
TEST(Approx, Ex2) {
  const long double limit = std::exp2(-22.0L);
  const auto check = [&](float x) { Relative(Ex2Approx(x), std::exp2l(x), limit, x); };
  Sweep(0.0f, 127.99f, check);
  Sweep(0.0f, 126.0f, [&](float x) { check(-x); });
  // Subnormal results have their own last place.
  Sweep(126.0f, 155.0f, [&](float x) { Absolute(Ex2Approx(-x), std::exp2l(-x), 0x1p-149L, x); });
  for (int i = -149; i < 128; ++i) EXPECT_EQ(Ex2Approx(static_cast<float>(i)), std::ldexp(1.0f, i));
  EXPECT_EQ(Ex2Approx(128.0f), kInf);
  EXPECT_EQ(Ex2Approx(kInf), kInf);
  EXPECT_EQ(Bits<uint32_t>(Ex2Approx(-kInf)), 0u);
  EXPECT_EQ(Ex2Approx(0x1p-140f), 1.0f);
  EXPECT_EQ(Ex2Approx<true>(-127.0f), 0.0f);
  EXPECT_EQ(Bits<uint32_t>(Ex2Approx(std::nanf(""))), kF32Nan);
}

TEST(Approx, Lg2) {
  const long double limit = std::exp2(-22.0L);
  Sweep(0x1p-149f, std::numeric_limits<float>::max(), [&](float x) {
    if (x > 0.5f && x < 2.0f) {
      Absolute(Lg2Approx(x), std::log2l(x), limit, x);
    } else {
      Relative(Lg2Approx(x), std::log2l(x), limit, x);
    }
  });
  for (int i = -149; i < 128; ++i) EXPECT_EQ(Lg2Approx(std::ldexp(1.0f, i)), static_cast<float>(i));
  EXPECT_EQ(Lg2Approx(0.0f), -kInf);
  EXPECT_EQ(Lg2Approx(-0.0f), -kInf);
  EXPECT_EQ(Lg2Approx(kInf), kInf);
  EXPECT_EQ(Bits<uint32_t>(Lg2Approx(-1.0f)), kF32Nan);
  EXPECT_EQ(Bits<uint32_t>(Lg2Approx(-kInf)), kF32Nan);
  EXPECT_EQ(Bits<uint32_t>(Lg2Approx(std::nanf(""))), kF32Nan);
  EXPECT_EQ(Lg2Approx<true>(0x1p-130f), -kInf);
}

TEST(Approx, SinCos) {
  const long double near = std::exp2(-20.5L);
  const long double far = std::exp2(-14.7L);
  Sweep(0.0f, 314.0f, [&](float x) {
    const long double limit = x < 6.2831f ? near : far;
    Absolute(SinApprox(x), std::sin(static_cast<long double>(x)), limit, x);
    Absolute(CosApprox(x), std::cos(static_cast<long double>(x)), limit, x);
    Absolute(SinApprox(-x), -std::sin(static_cast<long double>(x)), limit, x);
    Absolute(CosApprox(-x), std::cos(static_cast<long double>(x)), limit, x);
  });
  EXPECT_EQ(Bits<uint32_t>(SinApprox(-0.0f)), 0x80000000u);
  EXPECT_EQ(CosApprox(0.0f), 1.0f);
  EXPECT_EQ(Bits<uint32_t>(SinApprox(kInf)), kF32Nan);
  EXPECT_EQ(Bits<uint32_t>(CosApprox(-kInf)), kF32Nan);
  EXPECT_LE(std::fabs(SinApprox(3e38f)), 1.0f);
  EXPECT_LE(std::fabs(CosApprox(3e38f)), 1.0f);
}

TEST(Approx, ReciprocalsAndRoots) {
  const long double limit = std::exp2(-22.9L);
  Sweep(0x1p-149f, std::numeric_limits<float>::max(), [&](float x) {
    Relative(RsqrtApprox(x), 1.0L / std::sqrt(static_cast<long double>(x)), limit, x);
    Relative(SqrtApprox(x), std::sqrt(static_cast<long double>(x)), std::exp2(-23.0L), x);
  });
  EXPECT_EQ(RsqrtApprox(0.0f), kInf);
  EXPECT_EQ(RsqrtApprox(-0.0f), -kInf);
  EXPECT_EQ(RsqrtApprox(kInf), 0.0f);
  EXPECT_EQ(Bits<uint32_t>(RsqrtApprox(-1.0f)), kF32Nan);
  EXPECT_EQ(RsqrtApprox<true>(0x1p-130f), kInf);
  EXPECT_EQ(RcpApprox(-kInf), -0.0f);
  EXPECT_EQ(RcpApprox(-0.0f), -kInf);
  EXPECT_EQ(RcpApprox<true>(-0x1p-130f), -kInf);
  EXPECT_EQ(RcpApprox<true>(0x1p127f), 0.0f);
  EXPECT_EQ(RcpApprox(0x1p127f), 0x1p-127f);
  EXPECT_EQ(Bits<uint32_t>(SqrtApprox(-0.0f)), 0x80000000u);
  EXPECT_EQ(Bits<uint32_t>(SqrtApprox(-1.0f)), kF32Nan);
}

TEST(Approx, Division) {
  EXPECT_EQ(DivApprox(1.0f, 0x1p127f), 0.0f);
  EXPECT_EQ(DivFull(1.0f, 0x1p127f), 0x1p-127f);
  EXPECT_EQ(Bits<uint32_t>(DivApprox(-3.0f, 0x1p127f)), 0x80000000u);
  EXPECT_EQ(Bits<uint32_t>(DivApprox(kInf, 0x1p127f)), kF32Nan);
  EXPECT_EQ(DivApprox(6.0f, 3.0f), 2.0f);
  EXPECT_EQ(DivApprox(1.0f, kInf), 0.0f);
  EXPECT_EQ(DivApprox(1.0f, 0.0f), kInf);
  EXPECT_EQ(DivApprox<true>(0x1p-130f, 1.0f), 0.0f);
}

TEST(Approx, Tanh) {
  const long double limit = std::exp2(-11.0L);
  Sweep(0x1p-149f, 50.0f, [&](float x) {
    Relative(TanhApprox(x), std::tanh(static_cast<long double>(x)), limit, x);
    Relative(TanhApprox(-x), -std::tanh(static_cast<long double>(x)), limit, x);
  });
  EXPECT_EQ(TanhApprox(kInf), 1.0f);
  EXPECT_EQ(TanhApprox(-kInf), -1.0f);
  EXPECT_EQ(Bits<uint32_t>(TanhApprox(-0.0f)), 0x80000000u);
  EXPECT_EQ(Bits<uint32_t>(TanhApprox(std::nanf(""))), kF32Nan);
}

TEST(Approx, EveryHalf) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const F16 h = {static_cast<uint16_t>(code)};
    const BF16 b = {static_cast<uint16_t>(code)};
    if (!IsNan(h)) {
      const long double x = F32FromF16(h);
      Absolute(F32FromF16(TanhApprox(h)), std::tanh(x), std::exp2(-10.987L), F32FromF16(h));
      const long double power = std::exp2(x);
      const float actual = F32FromF16(Ex2Approx(h));
      if (power >= 65520.0L) {
        ASSERT_EQ(actual, kInf);
      } else if (power >= 0x1p-14L) {
        Relative(actual, power, std::exp2(-9.9L), F32FromF16(h));
      } else {
        Absolute(actual, power, 0x1p-24L, F32FromF16(h));
      }
    } else {
      ASSERT_EQ(Ex2Approx(h).bits, kF16Nan);
      ASSERT_EQ(TanhApprox(h).bits, kF16Nan);
    }
    if (IsNan(b)) {
      ASSERT_EQ(Ex2Approx(b).bits, kBF16Nan);
      continue;
    }
    const long double x = F32FromBF16(b);
    Absolute(F32FromBF16(TanhApprox(b)), std::tanh(x), std::exp2(-8.0L), F32FromBF16(b));
    const long double power = std::exp2(x);
    if (power < 0x1p127L && power >= 0x1p-126L) {
      Relative(F32FromBF16(Ex2Approx(b)), power, std::exp2(-7.0L), F32FromBF16(b));
    }
  }
  EXPECT_EQ(Ex2Approx(BF16{0xc2fe}).bits, 0);  // 2^-127
}

TEST(Approx, GrossF64) {
  const double x = 3.14159265358979;
  const double r = RcpApproxFtz(x);
  EXPECT_EQ(Bits<uint64_t>(r) & 0xffffffff, 0u);
  EXPECT_NEAR(r * x, 1.0, 0x1p-19);
  EXPECT_NEAR(RsqrtApproxFtz(x) * std::sqrt(x), 1.0, 0x1p-19);
  EXPECT_EQ(RcpApproxFtz(0.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(RcpApproxFtz(-0x1p-1030), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(Bits<uint64_t>(RcpApproxFtz(std::nan(""))), 0x7fffffff00000000u);
  EXPECT_EQ(RcpApproxFtz(0x1p1023), 0.0);
  EXPECT_EQ(RsqrtApproxFtz(-0.0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(Bits<uint64_t>(RsqrtApproxFtz(-1.0)), 0x7fffffff00000000u);
  EXPECT_EQ(RsqrtApprox(4.0), 0.5);
}

}  // namespace
}  // namespace kernelsmith::vgpu::math
