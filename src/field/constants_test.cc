#include <gtest/gtest.h>

#include <cmath>

#include "field/functions.h"

namespace kernelsmith {
namespace {

class ConstantsTest : public testing::Test {
 protected:
  Shadow F32(float x) { return algebra_.Constant(x, Precision::kFloat32); }
  Shadow F64(double x) { return algebra_.Constant(x, Precision::kFloat64); }
  void ExpectRational(const Shadow& s, int64_t num, int64_t den) {
    const Shadow expected = algebra_.Rational(num, den);
    EXPECT_FALSE(s.has(kUnrecognised)) << num << "/" << den;
    EXPECT_EQ(s.p, expected.p) << num << "/" << den;
    EXPECT_EQ(s.q, expected.q) << num << "/" << den;
  }
  Algebra algebra_{11};
  AlgebraScope scope_{&algebra_};
};

TEST_F(ConstantsTest, RationalsAndDecimalsInBothPrecisions) {
  ExpectRational(F32(0.1f), 1, 10);
  ExpectRational(F64(0.1), 1, 10);
  ExpectRational(F32(0.044715f), 44715, 1000000);
  ExpectRational(F64(0.044715), 44715, 1000000);
  ExpectRational(F32(1e-5f), 1, 100000);
  ExpectRational(F32(1e-6f), 1, 1000000);
  ExpectRational(F64(1e-12), 1, 1000000000000);
  ExpectRational(F32(-0.25f), -1, 4);
  ExpectRational(F32(1.702f), 1702, 1000);
  ExpectRational(F32(3), 3, 1);
  ExpectRational(F32(65536.0f * 65536.0f), int64_t{1} << 32, 1);
  ExpectRational(F64(0.01), 1, 100);
  // No simple number: the same on both sides all the same.
  EXPECT_TRUE(F32(1.0507009873554805f).has(kUnrecognised));
  EXPECT_EQ(F32(1.0507009873554805f).p, F64(1.0507009873554805).p);
}

// Whatever a decimal is taken for, the reference's double and the kernel's float are the same.
TEST_F(ConstantsTest, DecimalsAreTheSameInBothPrecisions) {
  ExpectRational(F32(0.134145f), 134145, 1000000);  // 3 * 0.044715, in GELU's gradient
  for (int n = 1; n < 100000; n += 7) {
    const double decimal = n / 1e5;
    EXPECT_EQ(F32(static_cast<float>(decimal)).p, F64(decimal).p) << decimal;
  }
}

TEST_F(ConstantsTest, ReciprocalsOfEverySize) {
  for (int n = 1; n < 5000; ++n) {
    ExpectRational(F32(1.0f / static_cast<float>(n)), 1, n);
    ExpectRational(F64(1.0 / n), 1, n);
  }
  for (int n : {65536, 1048576, 1000000, 786432, 50257, 151936, 3 * 1024 * 1024}) {
    ExpectRational(F32(1.0f / static_cast<float>(n)), 1, n);
    ExpectRational(F64(1.0 / n), 1, n);
  }
}

TEST_F(ConstantsTest, FourthRootsSquareToRoots) {
  // Widths of attention heads. 2 is a square in both fields, so that no sign is lost.
  for (const int width : {8, 32, 128, 512}) {
    for (const Shadow& s :
         {F64(std::pow(width, -0.25)), F32(static_cast<float>(std::pow(width, -0.25)))}) {
      EXPECT_FALSE(s.has(kUnrecognised)) << width;
      const Shadow square = algebra_.Mul(s, s);
      const Shadow root = F32(1.0f / std::sqrt(static_cast<float>(width)));
      EXPECT_EQ(square.p, root.p) << width;
      EXPECT_EQ(square.q, root.q) << width;
    }
  }
  EXPECT_FALSE(F64(std::pow(24, -0.25)).has(kUnrecognised));
  EXPECT_FALSE(F64(std::pow(80, -0.25)).has(kUnrecognised));
}

TEST_F(ConstantsTest, DifferencesFromOneComputedInFloat) {
  ExpectRational(F32(1.0f - 0.9f), 1, 10);
  ExpectRational(F32(1.0f - 0.999f), 1, 1000);
  ExpectRational(F32(1.0f - 0.99f), 1, 100);
  ExpectRational(F32(1.0f - 0.01f * 0.1f), 999, 1000);
  ExpectRational(F64(1.0 - 0.9), 1, 10);
  ExpectRational(F64(1.0 - 0.999), 1, 1000);
}

TEST_F(ConstantsTest, RootsOfIntegers) {
  for (int d = 1; d <= 300; ++d) {
    const Shadow scale32 = F32(1.0f / std::sqrt(static_cast<float>(d)));
    const Shadow scale64 = F64(1.0 / std::sqrt(static_cast<double>(d)));
    EXPECT_FALSE(scale32.has(kUnrecognised)) << d;
    EXPECT_EQ(scale32.p, scale64.p) << d;
    EXPECT_EQ(scale32.q, scale64.q) << d;
    // Whatever the root's sign, its square is 1/d or, for a non-square, −1/d.
    const uint64_t square = FieldP::Mul(scale32.p, scale32.p);
    const uint64_t inverse = FieldP::Inverse(static_cast<uint64_t>(d));
    EXPECT_TRUE(square == inverse || (scale32.has(kNonResidueP) && square == FieldP::Neg(inverse)))
        << d;
    // The same as Sqrt computes from the integer.
    EXPECT_EQ(algebra_.Inverse(algebra_.Sqrt(algebra_.Rational(d))).p == scale32.p ||
                  scale32.has(kNonResidueP),
              true)
        << d;
  }
  ExpectRational(F32(1.0f / std::sqrt(64.0f)), 1, 8);
}

TEST_F(ConstantsTest, KnownNumbers) {
  const Shadow root_two_over_pi = F64(std::sqrt(2 / M_PI));
  for (const Shadow& s :
       {F32(0.7978845608f), F64(0.7978845608), F64(0.7978845608028654), F32(0.79788456f)}) {
    EXPECT_EQ(s.p, root_two_over_pi.p);
    EXPECT_EQ(s.q, root_two_over_pi.q);
  }
  // (sqrt(2/pi))² · pi = 2
  const Shadow pi = F32(3.14159265f);
  ExpectRational(algebra_.Mul(pi, algebra_.Mul(root_two_over_pi, root_two_over_pi)), 2, 1);
  ExpectRational(algebra_.Mul(F32(1.44269504f), F32(0.69314718f)), 1, 1);
  // scale · log2e
  const Shadow scaled = F32(static_cast<float>(1.4426950408889634 / std::sqrt(128.0)));
  const Shadow product = algebra_.Mul(F64(1.4426950408889634), F64(1 / std::sqrt(128.0)));
  EXPECT_EQ(scaled.p, product.p);
  EXPECT_EQ(scaled.q, product.q);
  // 1/sqrt(2)
  const Shadow half_root = F32(0.70710678f);
  ExpectRational(algebra_.Mul(half_root, half_root), 1, 2);
  EXPECT_EQ(algebra_.Inverse(F32(1.41421356f)).p, half_root.p);
  // -ln(10000)/d as in sinusoidal encodings
  const Shadow frequency = F32(static_cast<float>(-std::log(10000.0) / 512));
  EXPECT_TRUE(algebra_.Same(algebra_.Mul(frequency, algebra_.Rational(-128)),
                            algebra_.Log(algebra_.Rational(10))));
}

TEST_F(ConstantsTest, RandomConstantsStayUnrecognised) {
  int recognised = 0;
  uint64_t state = 12345;
  for (int i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const float x = 1.0f + static_cast<float>(state >> 41) * 0x1p-23f;
    if (!F32(x).has(kUnrecognised)) ++recognised;
  }
  EXPECT_LT(recognised, 200);
  const Shadow odd = F32(1.0507009873554805f);
  EXPECT_TRUE(odd.has(kUnrecognised));
  EXPECT_EQ(odd.p, algebra_.Exact(1.0507009873554805f).p);
}

TEST_F(ConstantsTest, HugeAndTinyDoNotFail) {
  for (double x : {3.4028234663852886e38, -3.4028234663852886e38, 1e-30, 1e300, 5e-324, 1e9, -1e9,
                   1e20, 1.17549435e-38}) {
    const Shadow s = F64(x);
    EXPECT_TRUE(s.has(kHasP) && s.has(kHasQ)) << x;
  }
  ExpectRational(F32(-1e9f), -1000000000, 1);
}

}  // namespace
}  // namespace kernelsmith
