#include "counters/cache_model.h"

#include <gtest/gtest.h>

namespace kernelsmith::counters {
namespace {

TEST(SectoredCache, SectorsOfALineComeOneByOne) {
  SectoredCache cache(4096, 4);
  EXPECT_FALSE(cache.Access(8, false));
  EXPECT_TRUE(cache.Access(8, false));
  EXPECT_FALSE(cache.Access(9, false));  // the same line, another sector
  EXPECT_TRUE(cache.Contains(9));
  EXPECT_FALSE(cache.Contains(10));
}

TEST(SectoredCache, TheLeastRecentlyUsedLineGoes) {
  SectoredCache cache(512, 4);  // one set of four lines
  for (uint64_t line = 0; line < 4; ++line) EXPECT_FALSE(cache.Access(line * 4, line == 1));
  EXPECT_TRUE(cache.Access(0, false));
  EXPECT_FALSE(cache.Access(100 * 4, false));  // takes the place of line 1
  EXPECT_TRUE(cache.Contains(0));
  EXPECT_FALSE(cache.Contains(4));
  EXPECT_EQ(cache.written_back(), 1u);
}

TEST(SectoredCache, DirtySectorsAreCleanedOnce) {
  SectoredCache cache(4096, 4);
  cache.Access(1, true);
  cache.Access(2, true);
  cache.Access(3, false);
  EXPECT_EQ(cache.CleanAll(), 2u);
  EXPECT_EQ(cache.CleanAll(), 0u);
  EXPECT_TRUE(cache.Contains(1));
}

TEST(SectoredCache, WhatFitsStays) {
  SectoredCache cache(1 << 20);
  constexpr uint64_t kSectors = (1 << 19) / kSectorBytes;  // half of it
  for (uint64_t i = 0; i < kSectors; ++i) cache.Access(i, false);
  uint64_t hits = 0;
  for (uint64_t i = 0; i < kSectors; ++i) hits += cache.Access(i, false);
  // Sets are chosen by a hash: a few may overflow, at half load hardly any.
  EXPECT_GT(static_cast<double>(hits), 0.99 * kSectors);
}

TEST(SectoredCache, AStreamTwiceItsSizeNeverHits) {
  SectoredCache cache(1 << 16);
  constexpr uint64_t kSectors = (1 << 18) / kSectorBytes;
  uint64_t hits = 0;
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < kSectors; ++i) hits += cache.Access(i, false);
  }
  EXPECT_EQ(hits, 0u);
}

}  // namespace
}  // namespace kernelsmith::counters
