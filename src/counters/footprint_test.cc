#include "counters/footprint.h"

#include <gtest/gtest.h>

#include "support/rng.h"

namespace kernelsmith::counters {
namespace {

TEST(Footprint, CountsSectorsByBlocks) {
  FootprintTable table;
  table.BeginBlock();
  table.Touch(1, false);
  table.Touch(1, true);
  table.Touch(5000, true);
  table.BeginBlock();
  table.Touch(1, false);
  const std::vector<Footprint> regions = table.ByRegion({5000});
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].sectors, 1u);
  EXPECT_EQ(regions[0].twice, 1u);
  EXPECT_EQ(regions[0].once, 0u);
  EXPECT_EQ(regions[0].read_first, 1u);
  EXPECT_EQ(regions[0].written, 1u);
  EXPECT_EQ(regions[1].sectors, 1u);
  EXPECT_EQ(regions[1].once, 1u);
  EXPECT_EQ(regions[1].read_first, 0u);
}

Footprint Of(const FootprintTable& table) { return table.ByRegion({}).front(); }

TEST(Extrapolation, BlocksThatShareNothing) {
  FootprintTable table;
  for (uint64_t block : {3, 70, 999, 512}) {
    table.BeginBlock();
    for (uint64_t i = 0; i < 100; ++i) table.Touch(block * 100 + i, false);
  }
  EXPECT_NEAR(ExtrapolateDistinct(Of(table), 4, 1000), 100'000, 100);
}

TEST(Extrapolation, BlocksThatShareEverything) {
  FootprintTable table;
  for (int block = 0; block < 4; ++block) {
    table.BeginBlock();
    for (uint64_t i = 0; i < 100; ++i) table.Touch(i, false);
  }
  EXPECT_EQ(ExtrapolateDistinct(Of(table), 4, 1000), 100);
}

// The rows of a matrix that blocks of a product read: 32 strips, each read by 32 of 1024 blocks.
TEST(Extrapolation, StripsOfAMatrix) {
  FootprintTable table;
  Rng rng(7);
  for (int block = 0; block < 48; ++block) {
    table.BeginBlock();
    const uint64_t strip = rng.Below(32);
    for (uint64_t i = 0; i < 100; ++i) table.Touch(strip * 100 + i, false);
  }
  EXPECT_NEAR(ExtrapolateDistinct(Of(table), 48, 1024), 3200, 500);
}

}  // namespace
}  // namespace kernelsmith::counters
