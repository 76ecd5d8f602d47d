#include "field/prime.h"

#include <gtest/gtest.h>

#include <random>

namespace kernelsmith {
namespace {

template <typename Field>
class PrimeTest : public testing::Test {
 protected:
  uint64_t Draw() { return generator_() % Field::kModulus; }
  std::mt19937_64 generator_{7};
};
using Fields = testing::Types<FieldP, FieldQ>;
TYPED_TEST_SUITE(PrimeTest, Fields);

TYPED_TEST(PrimeTest, ReduceAgreesWithDivision) {
  for (int i = 0; i < 10000; ++i) {
    const unsigned __int128 x =
        (static_cast<unsigned __int128>(this->generator_()) << 64) | this->generator_();
    EXPECT_EQ(TypeParam::Reduce(x), static_cast<uint64_t>(x % TypeParam::kModulus));
  }
  const unsigned __int128 top = ~static_cast<unsigned __int128>(0);
  EXPECT_EQ(TypeParam::Reduce(top), static_cast<uint64_t>(top % TypeParam::kModulus));
  EXPECT_EQ(TypeParam::Reduce(TypeParam::kModulus), 0u);
}

TYPED_TEST(PrimeTest, FieldLaws) {
  using F = TypeParam;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t a = this->Draw(), b = this->Draw(), c = this->Draw();
    EXPECT_EQ(F::Mul(a, F::Add(b, c)), F::Add(F::Mul(a, b), F::Mul(a, c)));
    EXPECT_EQ(F::Mul(F::Mul(a, b), c), F::Mul(a, F::Mul(b, c)));
    EXPECT_EQ(F::Sub(F::Add(a, b), b), a);
    EXPECT_EQ(F::Add(a, F::Neg(a)), 0u);
    if (a != 0) {
      EXPECT_EQ(F::Mul(a, F::Inverse(a)), 1u);
      EXPECT_EQ(F::Inverse(a), F::Pow(a, F::kModulus - 2));  // Fermat
    }
    const uint64_t root = F::Sqrt(F::Mul(a, a));
    EXPECT_TRUE(root == a || root == F::Neg(a));
    EXPECT_EQ(F::Sqrt(F::Mul(a, b)), F::Mul(F::Sqrt(a), F::Sqrt(b)));
    EXPECT_EQ(F::Mul(F::Sqrt(b), F::Sqrt(b)) == b, F::IsSquare(b));
  }
  EXPECT_EQ(F::FromInt(-3), F::kModulus - 3);
  EXPECT_EQ(F::Add(F::FromInt(INT64_MIN), F::FromInt(INT64_MAX)), F::FromInt(-1));
}

// Witnesses that leave no composite below 2^64 (Sorenson and Webster).
bool IsPrime(uint64_t n) {
  const auto mul = [&](uint64_t a, uint64_t b) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % n);
  };
  for (const uint64_t base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
    uint64_t odd = n - 1;
    int twos = 0;
    for (; odd % 2 == 0; odd /= 2) ++twos;
    uint64_t x = 1, square = base % n;
    for (uint64_t e = odd; e != 0; e >>= 1, square = mul(square, square)) {
      if (e & 1) x = mul(x, square);
    }
    bool witness = x != 1 && x != n - 1;
    for (int i = 1; i < twos && witness; ++i) {
      x = mul(x, x);
      if (x == n - 1) witness = false;
    }
    if (witness) return false;
  }
  return true;
}

TEST(Primes, BothArePrime) {
  EXPECT_TRUE(IsPrime(kP));
  EXPECT_TRUE(IsPrime(kQ));
  EXPECT_FALSE(IsPrime(kQ + 2));
}

}  // namespace
}  // namespace kernelsmith
