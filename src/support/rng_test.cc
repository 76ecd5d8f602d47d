#include "support/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace kernelsmith {
namespace {

TEST(Rng, SameSeedSameSequence) {
  Rng a(7);
  Rng b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.Next(), b.Next());
}

TEST(Rng, FirstValuesAreFixedForAllTime) {
  // xoshiro256** after splitmix64(0), worked out by a Python transcription of the papers'
  // definitions.
  Rng rng(0);
  EXPECT_EQ(rng.Next(), 0x99ec5f36cb75f2b4u);
  EXPECT_EQ(rng.Next(), 0xbf6e1f784956452au);
}

TEST(Rng, BelowIsUniform) {
  Rng rng(1);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[rng.Below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);  // 5 sigma
}

TEST(Rng, NormalHasItsMoments) {
  Rng rng(2);
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const double x = rng.Normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.03);
}

TEST(Rng, ForksAreIndependentOfOrderAndOfEachOther) {
  const Rng parent(3);
  std::set<uint64_t> first;
  for (uint64_t stream = 0; stream < 1000; ++stream) first.insert(parent.Fork(stream).Next());
  EXPECT_EQ(first.size(), 1000u);
  EXPECT_EQ(parent.Fork(5).Next(), Rng(3).Fork(5).Next());
}

}  // namespace
}  // namespace kernelsmith
