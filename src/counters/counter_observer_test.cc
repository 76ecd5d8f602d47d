// Kernels whose counts can be worked out by hand.
#include "counters/counter_observer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "vgpu/testing.h"

namespace kernelsmith::counters {
namespace {

using vgpu::Dim3;
using vgpu::TestGpu;

uint64_t Of(const LaunchCounters& counters, InstructionClass which) {
  return counters.by_class[static_cast<size_t>(which)];
}

class Counted {
 public:
  explicit Counted(std::string_view body, CounterOptions options = {}) {
    options.memory = &gpu_.memory();
    observer_ = std::make_unique<CounterObserver>(options);
    const Status status = gpu_.Load(body);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().Format());
  }
  TestGpu& gpu() { return gpu_; }
  const LaunchCounters& Run(const std::string& entry, Dim3 grid, Dim3 block,
                            const std::vector<uint64_t>& arguments) {
    const auto result = gpu_.Launch(entry, grid, block, arguments, 0, false, observer_.get());
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().Format());
    if (result.ok() && result->fault) ADD_FAILURE() << result->fault->message;
    return observer_->launches().back();
  }

 private:
  TestGpu gpu_;
  std::unique_ptr<CounterObserver> observer_;
};

// out[i] = a[i * stride + offset] + b[i]
constexpr std::string_view kStrided = R"(
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out, .param .u64 stride,
                  .param .u64 offset) {
  .reg .b32 %r<8>; .reg .b64 %d<16>; .reg .f32 %f<4>;
  ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [out];
  ld.param.u64 %d4, [stride]; ld.param.u64 %d5, [offset];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %d6, %r4;
  mad.lo.u64 %d7, %d6, %d4, %d5;
  shl.b64 %d7, %d7, 2; add.u64 %d7, %d1, %d7;
  shl.b64 %d8, %d6, 2; add.u64 %d9, %d2, %d8; add.u64 %d10, %d3, %d8;
  ld.global.f32 %f1, [%d7];
  ld.global.f32 %f2, [%d9];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%d10], %f3;
  ret;
})";

TEST(CounterObserver, VectorAdd) {
  Counted counted(kStrided);
  constexpr uint64_t kCount = 4096;
  const std::vector<float> values(kCount, 1);
  const LaunchCounters& c = counted.Run("k", {32, 1, 1}, {128, 1, 1},
                                        {counted.gpu().Buffer(values), counted.gpu().Buffer(values),
                                         counted.gpu().Buffer(values), 1, 0});
  EXPECT_FALSE(c.sampled());
  EXPECT_EQ(c.warps, 128u);
  EXPECT_EQ(c.global_loads, 256u);
  EXPECT_EQ(c.SectorsPerLoad(), 4.0);
  EXPECT_EQ(c.global_stores, 128u);
  EXPECT_EQ(c.SectorsPerStore(), 4.0);
  EXPECT_EQ(c.unique_bytes, 3 * kCount * 4);
  EXPECT_EQ(c.unique_read_bytes, 2 * kCount * 4);
  EXPECT_EQ(c.unique_written_bytes, kCount * 4);
  EXPECT_EQ(c.dram_read_bytes, 2 * kCount * 4);
  EXPECT_EQ(c.dram_written_bytes, kCount * 4);
  EXPECT_EQ(c.flops_fp32, kCount);
  EXPECT_EQ(c.Flops(), kCount);
  EXPECT_EQ(c.ActiveLanes(), 32.0);
  EXPECT_EQ(c.Reuse(), 1.0);
  EXPECT_EQ(c.l1_hits, 0u);
  EXPECT_EQ(c.branches, 0u);
  EXPECT_EQ(c.global_waits, 128u);  // for both loads together
  EXPECT_EQ(Of(c, InstructionClass::kFp32), 128u);
  EXPECT_EQ(Of(c, InstructionClass::kGlobalMemory), 3 * 128u);
  EXPECT_EQ(Of(c, InstructionClass::kConstantMemory), 5 * 128u);
}

// Two groups of copies, of which the first is waited for after five instructions more.
constexpr std::string_view kAsync = R"(
.visible .entry k(.param .u64 a) {
  .reg .b64 %d<4>; .reg .b32 %r<8>; .shared .align 16 .b8 s[1024];
  ld.param.u64 %d1, [a];
  mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 16; add.u64 %d1, %d1, %d2;
  mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r2, %r2, %r3;
  cp.async.cg.shared.global [%r2], [%d1], 16;
  cp.async.commit_group;
  cp.async.cg.shared.global [%r2 + 512], [%d1 + 512], 16;
  cp.async.commit_group;
  add.u32 %r4, %r1, 1; add.u32 %r4, %r4, %r1; add.u32 %r4, %r4, %r1;
  cp.async.wait_group 1;
  cp.async.commit_group;
  cp.async.wait_all;
  cp.async.wait_all;
  ret;
})";

TEST(CounterObserver, AsynchronousCopiesAreWaitedForOnce) {
  Counted counted(kAsync);
  const uint64_t a = counted.gpu().Buffer(std::vector<float>(256, 1));
  const LaunchCounters& c = counted.Run("k", {1, 1, 1}, {32, 1, 1}, {a});
  // For the first group, and for the second; an empty one and what has arrived are no wait.
  EXPECT_EQ(c.async_waits, 2u);
  // Between: copy (and its addresses), commit, three sums, the wait; and three sums, wait, commit,
  // wait.
  EXPECT_GE(c.async_overlap, 6u + 6u);
  EXPECT_LE(c.async_overlap, 10u + 6u);
  EXPECT_EQ(c.global_waits, 0u);
}

// Three times: adds to a counter; `use` says what becomes of the old value.
std::string Adding(const std::string& use) {
  return R"(
.visible .entry k(.param .u64 a) {
  .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .pred %p<4>;
  ld.param.u64 %d1, [a];
  mov.u32 %r1, 0; mov.u32 %r3, 0;
LOOP:
  atom.global.add.u32 %r2, [%d1], 1;
  add.u32 %r1, %r1, 1;
  )" + use +
         R"(
  setp.lt.u32 %p1, %r1, 3;
  @%p1 bra LOOP;
  st.global.u32 [%d1 + 4], %r3;
  ret;
})";
}

TEST(CounterObserver, OnlyBlocksThatMayWaitAreAllWatched) {
  const struct {
    const char* use;
    bool sampled;
  } cases[] = {
      {"", true},                                               // nobody looks at it
      {"xor.b32 %r4, %r2, 1;", true},                           // nor at what is made of it
      {"setp.gt.u32 %p2, %r2, 100000; @%p2 bra LOOP;", false},  // a wait for other blocks
      {"add.u32 %r3, %r3, %r2;", false},                        // in memory it could be one
  };
  for (const auto& [use, sampled] : cases) {
    Counted counted(Adding(use), {.max_blocks = 8});
    const uint64_t a = counted.gpu().Buffer(std::vector<uint32_t>(2, 0));
    EXPECT_EQ(counted.Run("k", {100, 1, 1}, {32, 1, 1}, {a}).sampled(), sampled) << use;
  }
}

TEST(CounterObserver, StridesAndMisalignment) {
  Counted counted(kStrided);
  const uint64_t a = counted.gpu().Buffer(std::vector<float>(32 * 32 + 1, 1));
  const uint64_t b = counted.gpu().Buffer(std::vector<float>(32, 1));
  const struct {
    uint64_t stride, offset, sectors;
  } cases[] = {{1, 0, 4}, {2, 0, 8}, {32, 0, 32}, {1, 1, 5}, {0, 0, 1}};
  for (const auto& each : cases) {
    const LaunchCounters& c =
        counted.Run("k", {1, 1, 1}, {32, 1, 1}, {a, b, b, each.stride, each.offset});
    EXPECT_EQ(c.global_load_sectors, each.sectors + 4) << each.stride << " " << each.offset;
  }
}

TEST(CounterObserver, TheSecondLaunchFindsItsDataInL2) {
  Counted counted(kStrided);
  const uint64_t a = counted.gpu().Buffer(std::vector<float>(1024, 1));
  const std::vector<uint64_t> arguments{a, a, a, 1, 0};
  EXPECT_EQ(counted.Run("k", {8, 1, 1}, {128, 1, 1}, arguments).dram_read_bytes, 4096u);
  const LaunchCounters& again = counted.Run("k", {8, 1, 1}, {128, 1, 1}, arguments);
  EXPECT_EQ(again.dram_read_bytes, 0u);
  EXPECT_EQ(again.unique_read_bytes, 4096u);
}

TEST(CounterObserver, SampledCountsOfAUniformGridAreTheExactOnes) {
  constexpr uint64_t kCount = 4096 * 128;
  const std::vector<float> values(kCount, 1);
  std::vector<LaunchCounters> both;
  for (const uint64_t blocks : {0, 32}) {
    Counted counted(kStrided, {.max_blocks = blocks});
    const uint64_t out = counted.gpu().Buffer(values);
    both.push_back(
        counted.Run("k", {4096, 1, 1}, {128, 1, 1},
                    {counted.gpu().Buffer(values), counted.gpu().Buffer(values), out, 1, 0}));
    // The blocks that nobody watched ran as well.
    EXPECT_EQ(counted.gpu().Read<float>(out, kCount), std::vector<float>(kCount, 2));
  }
  EXPECT_EQ(both[0].watched_blocks, 4096u);
  EXPECT_EQ(both[1].watched_blocks, 32u);
  EXPECT_TRUE(both[1].sampled());
  EXPECT_EQ(both[0].warp_instructions, both[1].warp_instructions);
  EXPECT_EQ(both[0].global_load_sectors, both[1].global_load_sectors);
  EXPECT_EQ(both[0].flops_fp32, both[1].flops_fp32);
  EXPECT_EQ(both[0].unique_bytes, both[1].unique_bytes);
  EXPECT_EQ(both[0].dram_read_bytes, both[1].dram_read_bytes);
  EXPECT_EQ(both[0].dram_written_bytes, both[1].dram_written_bytes);
}

// Block (x, y) reads strip y of a and strip x of b, as those of a product do, and writes its own
// part.
constexpr std::string_view kStrips = R"(
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out) {
  .reg .b32 %r<8>; .reg .b64 %d<16>; .reg .f32 %f<4>; .reg .pred %p<2>;
  ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [out];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r2, 1024, %r3; mad.wide.u32 %d4, %r4, 4, %d1;
  mad.lo.u32 %r5, %r1, 1024, %r3; mad.wide.u32 %d5, %r5, 4, %d2;
  mov.u32 %r6, 0; mov.f32 %f1, 0f00000000;
loop:
  ld.global.f32 %f2, [%d4]; ld.global.f32 %f3, [%d5];
  fma.rn.f32 %f1, %f2, %f3, %f1;
  add.u64 %d4, %d4, 256; add.u64 %d5, %d5, 256;
  add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 16; @%p1 bra loop;
  mad.lo.u32 %r7, %r2, 32, %r1; mad.lo.u32 %r7, %r7, 64, %r3;
  mad.wide.u32 %d6, %r7, 4, %d3; st.global.f32 [%d6], %f1;
  ret;
})";

TEST(CounterObserver, SampledTrafficOfBlocksThatShareStrips) {
  const std::vector<float> strips(32 * 1024, 1);
  const std::vector<float> results(32 * 32 * 64, 0);
  std::vector<LaunchCounters> both;
  for (const uint64_t blocks : {0, 64}) {
    Counted counted(kStrips, {.max_blocks = blocks});
    both.push_back(counted.Run("k", {32, 32, 1}, {64, 1, 1},
                               {counted.gpu().Buffer(strips), counted.gpu().Buffer(strips),
                                counted.gpu().Buffer(results)}));
  }
  EXPECT_EQ(both[0].unique_read_bytes, 2 * strips.size() * 4);
  EXPECT_EQ(both[0].dram_read_bytes, 2 * strips.size() * 4);
  EXPECT_EQ(both[0].global_load_sectors, both[1].global_load_sectors);
  const auto near = [](uint64_t sampled, uint64_t exact) {
    return std::abs(static_cast<double>(sampled) / static_cast<double>(exact) - 1) < 0.15;
  };
  EXPECT_TRUE(near(both[1].unique_read_bytes, both[0].unique_read_bytes))
      << both[1].unique_read_bytes;
  EXPECT_TRUE(near(both[1].dram_read_bytes, both[0].dram_read_bytes)) << both[1].dram_read_bytes;
  EXPECT_TRUE(near(both[1].dram_written_bytes, both[0].dram_written_bytes));
  EXPECT_TRUE(near(both[1].l2_hits, both[0].l2_hits)) << both[1].l2_hits << " " << both[0].l2_hits;
}

TEST(CounterObserver, OnlyTheChosenBlocksRunIfSoAsked) {
  constexpr uint64_t kCount = 1024 * 32;
  const std::vector<float> values(kCount, 1);
  Counted counted(kStrided, {.max_blocks = 16, .run_others = false});
  const uint64_t out = counted.gpu().Buffer(values);
  const uint64_t in = counted.gpu().Buffer(values);
  counted.Run("k", {1024, 1, 1}, {32, 1, 1}, {in, in, out, 1, 0});
  const std::vector<float> result = counted.gpu().Read<float>(out, kCount);
  EXPECT_EQ(std::count(result.begin(), result.end(), 2.0f), 16 * 32);
}

TEST(CounterObserver, TheBudgetEndsTheWatching) {
  const std::vector<float> values(1024, 1);
  Counted counted(kStrided, {.max_instructions = 1});
  const uint64_t in = counted.gpu().Buffer(values);
  const uint64_t out = counted.gpu().Buffer(values);
  const LaunchCounters& c = counted.Run("k", {32, 1, 1}, {32, 1, 1}, {in, in, out, 1, 0});
  EXPECT_EQ(c.watched_blocks, 4u);
  EXPECT_EQ(c.flops_fp32, 1024u);
  EXPECT_EQ(counted.gpu().Read<float>(out, 1024), std::vector<float>(1024, 2));
}

// s[tid * stride] = tid, of `type` so many bytes wide
std::string SharedKernel(std::string_view type, std::string_view value, int bytes, int stride) {
  return fmt::format(R"(
.visible .entry k() {{
  .shared .align 16 .b8 s[8192];
  .reg .b32 %r<4>;
  mov.u32 %r1, %tid.x;
  mul.lo.u32 %r2, %r1, {};
  mov.u32 %r3, s;
  add.u32 %r2, %r2, %r3;
  st.shared.{} [%r2], {};
  bar.sync 0;
  ret;
}})",
                     bytes * stride, type, value);
}

TEST(CounterObserver, BankConflicts) {
  const struct {
    const char* type;
    const char* value;
    int bytes, stride;
    uint64_t passes, ideal;
  } cases[] = {{"b32", "%r1", 4, 1, 1, 1},          {"b32", "%r1", 4, 2, 2, 1},
               {"b32", "%r1", 4, 32, 32, 1},        {"b32", "%r1", 4, 33, 1, 1},
               {"b32", "%r1", 4, 0, 1, 1},          {"v4.b32", "{%r1, %r1, %r1, %r1}", 16, 1, 4, 4},
               {"v2.b32", "{%r1, %r1}", 8, 1, 2, 2}};
  for (const auto& each : cases) {
    Counted counted(SharedKernel(each.type, each.value, each.bytes, each.stride));
    const LaunchCounters& c = counted.Run("k", {1, 1, 1}, {32, 1, 1}, {});
    EXPECT_EQ(c.shared_requests, 1u);
    EXPECT_EQ(c.shared_wavefronts, each.passes) << each.type << " stride " << each.stride;
    EXPECT_EQ(c.shared_ideal_wavefronts, each.ideal);
    EXPECT_EQ(c.barriers, 1u);
  }
}

TEST(CounterObserver, DivergenceOfHalfAWarp) {
  Counted counted(R"(
.visible .entry k() {
  .reg .b32 %r<4>; .reg .pred %p<4>;
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p1, %r1, 16;
  @%p1 bra skip;
  add.u32 %r2, %r1, 1;
  add.u32 %r2, %r2, 1;
skip:
  setp.ge.u32 %p2, %r1, 0;
  @%p2 bra end;
end:
  ret;
})");
  const LaunchCounters& c = counted.Run("k", {1, 1, 1}, {32, 1, 1}, {});
  EXPECT_EQ(c.branches, 2u);
  EXPECT_EQ(c.divergent_branches, 1u);
  // 5 instructions by all, the first branch by half, two additions by half, ret by all.
  EXPECT_EQ(c.warp_instructions, 8u);
  EXPECT_EQ(c.lane_instructions, 32u * 5 + 3 * 16);
}

TEST(CounterObserver, AtomicsOnOneAddress) {
  Counted counted(R"(
.visible .entry same(.param .u64 p) {
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [p];
  red.global.add.u32 [%d1], 1;
  ret;
}
.visible .entry own(.param .u64 p) {
  .reg .b64 %d<3>; .reg .b32 %r<4>;
  ld.param.u64 %d1, [p];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %d2, %r1, 4, %d1;
  red.global.add.u32 [%d2], 1;
  ret;
})");
  const uint64_t p = counted.gpu().Buffer(std::vector<uint32_t>(64, 0));
  const LaunchCounters same = counted.Run("same", {2, 1, 1}, {64, 1, 1}, {p});
  EXPECT_EQ(same.atomics, 4u);
  EXPECT_EQ(same.atomic_lanes, 128u);
  EXPECT_EQ(same.atomic_addresses, 4u);
  EXPECT_EQ(same.atomic_turns, 128u);
  EXPECT_EQ(same.atomic_most_lanes, 32u);
  EXPECT_EQ(same.atomic_hottest_share, 1.0);
  const LaunchCounters own = counted.Run("own", {2, 1, 1}, {64, 1, 1}, {p});
  EXPECT_EQ(own.atomic_most_lanes, 1u);
  EXPECT_EQ(own.atomic_addresses, 128u);
  EXPECT_EQ(own.atomic_hottest_share, 2.0 / 128);
}

TEST(CounterObserver, TensorFlops) {
  Counted counted(R"(
.visible .entry k() {
  .reg .b32 %r<8>; .reg .f32 %f<8>;
  mov.b32 %r1, 0;
  mov.f32 %f1, 0f00000000;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r1, %r1, %r1},
      {%r1, %r1}, {%f1, %f1, %f1, %f1};
  ret;
})");
  const LaunchCounters& c = counted.Run("k", {3, 1, 1}, {64, 1, 1}, {});
  EXPECT_EQ(c.flops_tensor, 6u * 2 * 16 * 8 * 16);
  EXPECT_EQ(c.Flops(), c.flops_tensor);
  EXPECT_EQ(Of(c, InstructionClass::kTensor), 6u);
}

TEST(CounterObserver, JsonComesBack) {
  Counted counted(kStrided);
  const uint64_t a = counted.gpu().Buffer(std::vector<float>(64, 1));
  const LaunchCounters& c = counted.Run("k", {2, 1, 1}, {32, 1, 1}, {a, a, a, 1, 0});
  const nlohmann::json json = ToJson(c);
  const Result<LaunchCounters> back = FromJson(json);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(ToJson(*back), json);
  EXPECT_EQ(json["instructions_by_class"]["fp32"], 2);
  nlohmann::json broken = json;
  broken.erase("l2_hits");
  EXPECT_FALSE(FromJson(broken).ok());
}

TEST(Occupancy, WhatLimitsIt) {
  LaunchCounters c;
  c.block = {256, 1, 1};
  c.shared_bytes = 0;
  PtxasKernel known{.registers = 32};
  SetOccupancy(c, DefaultGpuModel(), &known);
  EXPECT_EQ(c.resident_blocks, 8u);
  EXPECT_EQ(c.occupancy, 1.0);
  EXPECT_EQ(c.occupancy_limit, "none");
  known.registers = 128;  // 65536 / 128 = 512 threads
  SetOccupancy(c, DefaultGpuModel(), &known);
  EXPECT_EQ(c.resident_blocks, 2u);
  EXPECT_EQ(c.occupancy, 0.25);
  EXPECT_EQ(c.occupancy_limit, "registers");
  known.registers = 32;
  c.shared_bytes = 100 << 10;
  SetOccupancy(c, DefaultGpuModel(), &known);
  EXPECT_EQ(c.resident_blocks, 2u);
  EXPECT_EQ(c.occupancy_limit, "shared memory");
  c.shared_bytes = 300 << 10;
  SetOccupancy(c, DefaultGpuModel(), &known);
  EXPECT_EQ(c.resident_blocks, 0u);
  EXPECT_EQ(c.occupancy_limit, "its needs: no block fits on an SM");
}

}  // namespace
}  // namespace kernelsmith::counters
