#include "vgpu/turn_order.h"

#include <set>
#include <vector>

#include "vgpu/testing.h"

namespace kernelsmith::vgpu {
namespace {

TEST(TurnOrder, TakesEachOnceAndNeverAscending) {
  for (uint64_t schedule = 0; schedule < 20; ++schedule) {
    for (const uint64_t count : {1, 2, 3, 8, 12, 100, 1009}) {
      const TurnOrder order(count, schedule);
      std::set<uint64_t> taken;
      bool ascending = true;
      for (uint64_t i = 0; i < count; ++i) {
        taken.insert(order.At(i));
        ascending &= order.At(i) == i;
      }
      EXPECT_EQ(taken.size(), count);
      EXPECT_EQ(ascending, schedule == 0 || count == 1) << schedule << " of " << count;
    }
  }
}

TEST(TurnOrder, SchedulesDiffer) {
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t schedule = 0; schedule < 20; ++schedule) {
    std::vector<uint64_t> order;
    for (uint64_t i = 0; i < 100; ++i) order.push_back(TurnOrder(100, schedule).At(i));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 20u);
}

// Which thread got which ticket.
std::vector<uint32_t> Tickets(uint64_t schedule, Dim3 grid, Dim3 block, uint32_t rounds = 1) {
  TestGpu gpu;
  const Status loaded = gpu.Load(R"(
.visible .entry k(.param .u64 out, .param .u32 rounds) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;
  ld.param.u64 %rd0, [out]; ld.param.u32 %r5, [rounds];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
  mad.lo.u32 %r2, %r1, %r2, %r0;
AGAIN:
  atom.global.add.u32 %r3, [%rd0], 1;
  mul.wide.u32 %rd1, %r3, 4; add.u64 %rd1, %rd0, %rd1;
  st.global.u32 [%rd1+4], %r2;
  sub.u32 %r5, %r5, 1;
  setp.ne.u32 %p, %r5, 0;
  @%p bra AGAIN;
  ret;
})");
  EXPECT_TRUE(loaded.ok());
  const auto total = static_cast<size_t>(grid.Count() * block.Count() * rounds);
  const uint64_t out = gpu.Buffer(std::vector<uint32_t>(total + 1, 0));
  const std::vector<uint64_t> arguments{out, rounds};
  const auto result = gpu.gpu().Launch({.module = &gpu.module(),
                                        .entry = "k",
                                        .grid = grid,
                                        .block = block,
                                        .parameters = std::as_bytes(std::span(arguments)),
                                        .schedule = schedule});
  EXPECT_TRUE(result.ok() && !result->fault);
  std::vector<uint32_t> read = gpu.Read<uint32_t>(out, total + 1);
  EXPECT_EQ(read[0], total);
  read.erase(read.begin());
  return read;
}

TEST(Schedule, BlocksAloneChangeTheirOrder) {
  const auto ascending = Tickets(0, {8, 1, 1}, {1, 1, 1});
  EXPECT_EQ(Tickets(1, {8, 1, 1}, {1, 1, 1}), std::vector(ascending.rbegin(), ascending.rend()));
  for (uint64_t s = 2; s < 6; ++s) EXPECT_NE(Tickets(s, {8, 1, 1}, {1, 1, 1}), ascending);
}

TEST(Schedule, WarpsAloneChangeTheirOrder) {
  // One lane of each warp would do; the first ticket of a warp tells.
  const auto first_warp = [](uint64_t schedule) {
    return Tickets(schedule, {1, 1, 1}, {128, 1, 1})[0] / 32;
  };
  EXPECT_EQ(first_warp(0), 0u);
  EXPECT_EQ(first_warp(1), 3u);
  for (uint64_t s = 2; s < 6; ++s) EXPECT_NE(first_warp(s), 0u);
}

TEST(Schedule, LanesOfAnAtomicChangeTheirOrder) {
  const auto ascending = Tickets(0, {1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(Tickets(1, {1, 1, 1}, {32, 1, 1}), std::vector(ascending.rbegin(), ascending.rend()));
  for (uint64_t s = 2; s < 6; ++s) EXPECT_NE(Tickets(s, {1, 1, 1}, {32, 1, 1}), ascending);
}

// How often the next ticket goes to another block.
TEST(Schedule, BlocksComeInBetweenInLoopsWithAtomics) {
  const auto changes = [](uint64_t schedule) {
    const auto tickets = Tickets(schedule, {4, 1, 1}, {1, 1, 1}, 40);
    int count = 0;
    for (size_t i = 1; i < tickets.size(); ++i) count += tickets[i] != tickets[i - 1];
    return count;
  };
  EXPECT_EQ(changes(0), 3);
  EXPECT_EQ(changes(1), 3);
  EXPECT_GT(changes(2), 20);
}

}  // namespace
}  // namespace kernelsmith::vgpu
