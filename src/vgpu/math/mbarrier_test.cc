#include "vgpu/math/mbarrier.h"

#include <gtest/gtest.h>

namespace kernelsmith::vgpu::math {
namespace {

TEST(Mbarrier, PhaseEndsWithTheLastArrival) {
  uint64_t word = MbarrierInit(3);
  const uint64_t first = word;
  EXPECT_EQ(MbarrierPending(word), 3u);
  word = MbarrierArrive(word, 1, 0, false);
  word = MbarrierArrive(word, 1, 0, false);
  EXPECT_EQ(MbarrierPending(word), 1u);
  EXPECT_FALSE(MbarrierEnded(word, first));
  EXPECT_FALSE(MbarrierParityEnded(word, 0));
  EXPECT_TRUE(MbarrierParityEnded(word, 1));  // the phase before the first counts as ended
  word = MbarrierArrive(word, 1, 0, false);
  EXPECT_TRUE(MbarrierEnded(word, first));
  EXPECT_TRUE(MbarrierParityEnded(word, 0));
  EXPECT_FALSE(MbarrierParityEnded(word, 1));
  EXPECT_EQ(MbarrierPending(word), 3u);
  // The second phase: one arrival with a count of three.
  word = MbarrierArrive(word, 3, 0, false);
  EXPECT_TRUE(MbarrierParityEnded(word, 1));
}

TEST(Mbarrier, WaitsForBytes) {
  uint64_t word = MbarrierInit(1);
  word = MbarrierArrive(word, 1, 1 << 20, false);
  EXPECT_FALSE(MbarrierParityEnded(word, 0));
  word = MbarrierComplete(word, (1 << 20) - 16);
  EXPECT_FALSE(MbarrierParityEnded(word, 0));
  word = MbarrierComplete(word, 16);
  EXPECT_TRUE(MbarrierParityEnded(word, 0));
  // Bytes may arrive before they are announced.
  word = MbarrierComplete(word, 64);
  EXPECT_FALSE(MbarrierParityEnded(word, 1));
  word = MbarrierExpect(word, 64);
  word = MbarrierArrive(word, 1, 0, false);
  EXPECT_TRUE(MbarrierParityEnded(word, 1));
}

TEST(Mbarrier, DropLowersTheCount) {
  uint64_t word = MbarrierInit(2);
  word = MbarrierArrive(word, 1, 0, true);
  word = MbarrierArrive(word, 1, 0, false);
  EXPECT_TRUE(MbarrierParityEnded(word, 0));
  EXPECT_EQ(MbarrierPending(word), 1u);
}

TEST(Mbarrier, TooManyArrivalsStopAtZero) {
  const uint64_t word = MbarrierArrive(MbarrierInit(1), 1000, 0, true);
  EXPECT_EQ(MbarrierPending(word), 0u);
}

}  // namespace
}  // namespace kernelsmith::vgpu::math
