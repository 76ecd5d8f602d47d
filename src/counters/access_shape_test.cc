#include "counters/access_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelsmith::counters {
namespace {

using ::testing::ElementsAre;

std::vector<LaneAccess> Lanes(uint64_t base, uint64_t stride, uint32_t bytes) {
  std::vector<LaneAccess> lanes;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    lanes.push_back({.address = base + lane * stride, .bytes = bytes, .lane = lane});
  }
  return lanes;
}

size_t Sectors(const std::vector<LaneAccess>& lanes) {
  std::vector<uint64_t> sectors;
  SectorsOf(lanes, sectors);
  return sectors.size();
}

TEST(Sectors, FloatsOfAWarp) {
  EXPECT_EQ(Sectors(Lanes(4096, 4, 4)), 4u);      // 128 bytes
  EXPECT_EQ(Sectors(Lanes(4096 + 4, 4, 4)), 5u);  // misaligned by one float
  EXPECT_EQ(Sectors(Lanes(4096, 8, 4)), 8u);      // every second float
  EXPECT_EQ(Sectors(Lanes(4096, 128, 4)), 32u);   // a column of a 32-wide matrix
  EXPECT_EQ(Sectors(Lanes(4096, 0, 4)), 1u);      // broadcast
  EXPECT_EQ(Sectors(Lanes(4096, 16, 16)), 16u);   // float4
  EXPECT_EQ(Sectors(Lanes(4096, 1, 1)), 1u);      // bytes
}

TEST(Sectors, AnyOrderGivesAscendingDistinctOnes) {
  std::vector<uint64_t> sectors;
  SectorsOf(
      std::vector<LaneAccess>{
          {.address = 96, .bytes = 4}, {.address = 30, .bytes = 4}, {.address = 100, .bytes = 4}},
      sectors);
  EXPECT_THAT(sectors, ElementsAre(0, 1, 3));
}

void ExpectPasses(const std::vector<LaneAccess>& lanes, uint32_t needed, uint32_t ideal,
                  bool read = true) {
  const Wavefronts passes = WavefrontsOf(lanes, read);
  EXPECT_EQ(passes.needed, needed);
  EXPECT_EQ(passes.ideal, ideal);
}

TEST(Wavefronts, StridesOfFloats) {
  ExpectPasses(Lanes(0, 4, 4), 1, 1);
  ExpectPasses(Lanes(0, 8, 4), 2, 1);
  ExpectPasses(Lanes(0, 12, 4), 1, 1);  // odd strides meet every bank
  ExpectPasses(Lanes(0, 128, 4), 32, 1);
  ExpectPasses(Lanes(0, 132, 4), 1, 1);  // the same column of a padded tile
  ExpectPasses(Lanes(64, 0, 4), 1, 1);   // broadcast
}

TEST(Wavefronts, HalvesShareAWord) { ExpectPasses(Lanes(0, 2, 2), 1, 1); }

TEST(Wavefronts, WideAccessesGoInParts) {
  ExpectPasses(Lanes(0, 8, 8), 2, 2);    // half warps
  ExpectPasses(Lanes(0, 16, 16), 4, 4);  // quarters
  // Lanes of a quarter 128 bytes apart: all eight want the same four banks.
  ExpectPasses(Lanes(0, 128, 16), 32, 4);
  ExpectPasses(Lanes(0, 144, 16), 4, 4);  // padded by 16 bytes
}

std::vector<LaneAccess> WideLanes(uint64_t (*address)(uint32_t lane)) {
  std::vector<LaneAccess> lanes;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    lanes.push_back({.address = address(lane), .bytes = 16, .lane = lane});
  }
  return lanes;
}

TEST(Wavefronts, PairsOfLanesThatAgreeTakeHalf) {
  // Both as measured on H100 (access_shape.h).
  ExpectPasses(WideLanes([](uint32_t lane) -> uint64_t { return lane / 16 * 32; }), 2, 2);
  ExpectPasses(WideLanes([](uint32_t lane) -> uint64_t { return lane % 16 * 32; }), 8, 4);
  // Lanes n and n^1, and n and n^2.
  ExpectPasses(WideLanes([](uint32_t lane) -> uint64_t { return lane / 2 % 8 * 16; }), 2, 2);
  ExpectPasses(WideLanes([](uint32_t lane) -> uint64_t { return lane % 2 * 16; }), 2, 2);
  // Not where it is n and n^4, nor in stores.
  ExpectPasses(WideLanes([](uint32_t lane) -> uint64_t { return lane % 4 * 16; }), 4, 4);
  ExpectPasses(WideLanes([](uint32_t lane) -> uint64_t { return lane % 2 * 16; }), 4, 4, false);
}

TEST(Contention, LanesAtOneAddress) {
  const Contention same = ContentionOf(Lanes(8, 0, 4));
  EXPECT_EQ(same.addresses, 1u);
  EXPECT_EQ(same.most, 32u);
  const Contention apart = ContentionOf(Lanes(8, 4, 4));
  EXPECT_EQ(apart.addresses, 32u);
  EXPECT_EQ(apart.most, 1u);
}

}  // namespace
}  // namespace kernelsmith::counters
