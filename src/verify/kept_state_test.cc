#include "verify/kept_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace kernelsmith {
namespace {

using ::testing::Contains;
using ::testing::Not;

constexpr const char* kPtx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 calls;
.global .align 4 .b8 table[12];
.const .align 4 .f32 scale;
.visible .entry k()
{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  ld.global.u32 %r1, [calls];
  setp.gt.u32 %p1, %r1, 777;
  ret;
})";

StateBytes Words(const std::vector<uint32_t>& words) {
  std::vector<std::byte> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return {bytes};
}

TEST(KeptState, VariablesAndPreparedMemoryStay) {
  Plan plan;
  plan.buffers = {{.kind = PlanBuffer::Kind::kInput, .bytes = 4, .prepared = true},
                  {.kind = PlanBuffer::Kind::kWorkspace, .bytes = 4, .prepared = true},
                  {.kind = PlanBuffer::Kind::kWorkspace, .bytes = 4},
                  {.kind = PlanBuffer::Kind::kVariable, .bytes = 4, .name = "calls"}};
  std::vector<BufferIndex> kept;
  const Result<Plan> with = WithKeptState(plan, kPtx, &kept);
  ASSERT_TRUE(with.ok());
  // Constants are the host's alone to write.
  EXPECT_EQ(kept, (std::vector<BufferIndex>{1, 3, 4}));
  EXPECT_EQ(with->buffers[4].name, "table");
  EXPECT_EQ(with->buffers[4].bytes, 12u);
}

TEST(KeptState, ChangesHaveKinds) {
  using Kind = StateChange::Kind;
  EXPECT_EQ(ChangeOf({Words({1, 2}), Words({1, 2}), Words({1, 2})}).kind, Kind::kNone);
  const StateChange counts = ChangeOf({Words({1, 9}), Words({1, 12}), Words({1, 15})});
  EXPECT_EQ(counts.kind, Kind::kCounts);
  ASSERT_EQ(counts.counters.size(), 1u);
  EXPECT_EQ(counts.counters[0].offset, 4u);
  EXPECT_EQ(StateAfter(Words({1, 9}), counts, 101), Words({1, 309}));
  EXPECT_EQ(ChangeOf({Words({1}), Words({2}), Words({4})}).kind, Kind::kUnknown);
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  const StateChange floats =
      ChangeOf({Words({bits(1)}), Words({bits(1.5F)}), Words({bits(2)}), Words({bits(2.5F)})});
  ASSERT_EQ(floats.kind, Kind::kCounts);
  EXPECT_TRUE(floats.counters[0].is_float);
  EXPECT_EQ(StateAfter(Words({bits(1)}), floats, 11), Words({bits(6)}));
}

TEST(KeptState, CountersAreMovedToTheConstantsOfTheKernel) {
  const StateChange change = ChangeOf({Words({1}), Words({2}), Words({3})});
  const std::vector<uint64_t> points = TurningPoints(change, kPtx);
  for (const uint64_t point : {776, 777, 778}) EXPECT_THAT(points, Contains(point));
  EXPECT_THAT(points, Contains(1024u));
  EXPECT_THAT(points, Not(Contains(500u)));
}

}  // namespace
}  // namespace kernelsmith
