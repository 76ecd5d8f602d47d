#include "checkers/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/vector_clock.h"
#include "vgpu/testing.h"

namespace kernelsmith::checkers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Runs one kernel of one parameter `p`, a buffer of 4096 zeros, and says what is found:
// "race 12/9" with the PTX lines of both sides, counted from the first line of the body.
class RaceTest : public ::testing::Test {
 protected:
  std::vector<std::string> Find(const std::string& body, vgpu::Dim3 grid = {1, 1, 1},
                                vgpu::Dim3 block = {64, 1, 1}) {
    const std::string text =
        ".visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>; .reg .b16 %h<9>; "
        ".reg .f32 %f<9>; .shared .align 16 .b8 s[4096];\n"
        "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, s; "
        "mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1; shl.b32 %r3, %r0, 2; "
        "add.u32 %r3, %r2, %r3; setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r1, 0;\n" +
        body + "\nret;\n}\n";
    constexpr int kFirstLine = 7;
    const Status loaded = gpu_.Load(text);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().Format());
    if (!loaded.ok()) return {"does not load"};
    const uint64_t buffer = gpu_.Buffer(std::vector<uint32_t>(4096));
    FindingSink sink;
    RaceChecker checker(sink, gpu_.gpu());
    const auto result = gpu_.Launch("k", grid, block, {buffer}, 0, false, &checker);
    EXPECT_TRUE(result.ok() && !result->fault)
        << (result.ok() ? result->fault->message : result.error().Format());
    std::vector<std::string> found;
    for (const Finding& finding : sink.Findings()) {
      found.push_back(std::string(Name(finding.kind)) + " " +
                      std::to_string(finding.place.ptx.line - kFirstLine + 1) + "/" +
                      std::to_string(finding.other->ptx.line - kFirstLine + 1));
    }
    return found;
  }

  vgpu::TestGpu gpu_;
};

TEST_F(RaceTest, OwnWordsAreClean) {
  EXPECT_THAT(Find("st.global.u32 [%rd1], %r0;\n"
                   "ld.global.u32 %r4, [%rd1];\n"
                   "st.shared.u32 [%r3], %r4;\n"
                   "ld.shared.u32 %r4, [%r3];"),
              IsEmpty());
}

TEST_F(RaceTest, NeighbourInSharedMemoryNeedsABarrier) {
  // Mirrors the words of the block: lanes of the first warp meet those of the second.
  const std::string write = "st.shared.u32 [%r3], %r0;\n";
  const std::string read =
      "sub.u32 %r4, 63, %r0; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2;\n"
      "ld.shared.u32 %r5, [%r4];";
  EXPECT_THAT(Find(write + "bar.sync 0;\n" + read), IsEmpty());
  EXPECT_THAT(Find(write + "bar.warp.sync -1;\n" + read), ElementsAre("race 4/1"));
}

TEST_F(RaceTest, NeighbourInSharedMemoryWithoutBarrier) {
  EXPECT_THAT(Find("st.shared.u32 [%r3], %r0;\n"
                   "sub.u32 %r4, 63, %r0; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2;\n"
                   "ld.shared.u32 %r5, [%r4];"),
              ElementsAre("race 3/1"));
}

TEST_F(RaceTest, LanesOfAWarpAreNotInStep) {
  const std::string write = "st.shared.u32 [%r3], %r0;\n";
  const std::string read =
      "xor.b32 %r4, %r0, 1; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2;\n"
      "ld.shared.u32 %r5, [%r4];";
  EXPECT_THAT(Find(write + "bar.warp.sync -1;\n" + read), IsEmpty());
  EXPECT_THAT(Find(write + "shfl.sync.bfly.b32 %r6, %r0, 1, 31, -1;\n" + read),
              ElementsAre("race 4/1"));
}

TEST_F(RaceTest, WarpSyncOrdersTheLanesItNames) {
  const std::string write =
      "and.b32 %r6, %r0, 31; setp.lt.u32 %p2, %r6, 16; selp.b32 %r7, 65535, -65536, %p2;\n"
      "st.shared.u32 [%r3], %r0;\n"
      "bar.warp.sync %r7;\n";
  EXPECT_THAT(Find(write + "xor.b32 %r4, %r0, 15; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2;\n"
                           "ld.shared.u32 %r5, [%r4];"),
              IsEmpty());
  EXPECT_THAT(Find(write + "xor.b32 %r4, %r0, 16; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2;\n"
                           "ld.shared.u32 %r5, [%r4];"),
              ElementsAre("race 5/2"));
}

TEST_F(RaceTest, SameValueIsItsOwnKind) {
  EXPECT_THAT(Find("mov.u32 %r4, 7;\nst.global.u32 [%rd0], %r4;"),
              ElementsAre("race_same_value 2/2"));
  EXPECT_THAT(Find("st.global.u32 [%rd0], %r0;"), ElementsAre("race 1/1"));
}

TEST_F(RaceTest, BlocksAreNotOrdered) {
  EXPECT_THAT(Find("@%p0 st.global.u32 [%rd0], %r1;", {2, 1, 1}), ElementsAre("race 1/1"));
}

TEST_F(RaceTest, AtomicsOfEnoughScopeAreNoRace) {
  EXPECT_THAT(Find("red.global.add.u32 [%rd0], 1;", {2, 1, 1}), IsEmpty());
  EXPECT_THAT(Find("atom.relaxed.cta.global.add.u32 %r4, [%rd0], 1;", {2, 1, 1}),
              ElementsAre("race 1/1"));
}

TEST_F(RaceTest, PlainReadOfAnAtomicCounter) {
  EXPECT_THAT(Find("red.global.add.u32 [%rd0], 1;\nld.global.u32 %r4, [%rd0];"),
              ElementsAre("race 2/1"));
}

TEST_F(RaceTest, BytesOfAWordAreApart) {
  EXPECT_THAT(Find("cvt.u64.u32 %rd2, %r0; add.u64 %rd2, %rd0, %rd2;\n"
                   "st.global.u8 [%rd2], %r0;"),
              IsEmpty());
  EXPECT_THAT(Find("cvt.u64.u32 %rd2, %r0; add.u64 %rd2, %rd0, %rd2;\n"
                   "st.global.u8 [%rd2], %r0;\n"
                   "ld.global.u32 %r4, [%rd0];"),
              ElementsAre("race 3/2"));
}

// Thread 0 of block 0 hands a word to thread 0 of block 1.
std::string Message(const std::string& before, const std::string& set, const std::string& wait,
                    const std::string& after) {
  return "@!%p0 bra DONE;\n@!%p1 bra READ;\nst.global.u32 [%rd0+64], 5;\n" + before + "\n" + set +
         "\nbra DONE;\nREAD: " + wait + "\nsetp.eq.u32 %p3, %r4, 0;\n@%p3 bra READ;\n" + after +
         "\nld.global.u32 %r5, [%rd0+64];\nDONE:";
}

TEST_F(RaceTest, FlagsNeedFencesOnBothSides) {
  const std::string set = "st.volatile.global.u32 [%rd0], 1;";
  const std::string wait = "ld.volatile.global.u32 %r4, [%rd0];";
  const std::string fence = "membar.gl;";
  const vgpu::Dim3 two{2, 1, 1};
  EXPECT_THAT(Find(Message(fence, set, wait, fence), two), IsEmpty());
  EXPECT_THAT(Find(Message("", "st.release.gpu.global.u32 [%rd0], 1;",
                           "ld.acquire.gpu.global.u32 %r4, [%rd0];", ""),
                   two),
              IsEmpty());
  EXPECT_THAT(Find(Message("", set, wait, ""), two), ElementsAre("race 11/3"));
  EXPECT_THAT(Find(Message("", set, wait, fence), two), ElementsAre("race 11/3"));
  EXPECT_THAT(Find(Message(fence, set, wait, ""), two), ElementsAre("race 11/3"));
  EXPECT_THAT(Find(Message("membar.cta;", set, wait, fence), two), ElementsAre("race 11/3"));
}

TEST_F(RaceTest, LastBlockSumsUp) {
  // As CUDA's guide has it: store, fence, atomic; barrier; the last block reads.
  const std::string store = "@%p0 st.global.u32 [%rd1+64], %r1;\n";
  const std::string ticket =
      "@%p0 atom.global.inc.u32 %r4, [%rd0], 63;\n"
      "@%p0 st.shared.u32 [%r2], %r4;\nbar.sync 0;\nld.shared.u32 %r5, [%r2];\n"
      "setp.ne.u32 %p4, %r5, 7;\n@%p4 bra DONE;\n"
      "ld.global.u32 %r6, [%rd1+64];\nDONE:";
  const std::string index = "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd0, %rd2;\n";
  EXPECT_THAT(Find(index + store + "@%p0 membar.gl;\n" + ticket, {8, 1, 1}), IsEmpty());
}

TEST_F(RaceTest, CopiesMustBeWaitedFor) {
  const std::string copy = "cp.async.ca.shared.global [%r3], [%rd1], 4;\ncp.async.commit_group;\n";
  const std::string own = "ld.shared.u32 %r4, [%r3];";
  EXPECT_THAT(Find(copy + "cp.async.wait_group 0;\n" + own), IsEmpty());
  EXPECT_THAT(Find(copy + "cp.async.wait_all;\n" + own), IsEmpty());
  EXPECT_THAT(Find(copy + own), ElementsAre("async_hazard 3/1"));
  EXPECT_THAT(Find(copy + "cp.async.wait_group 1;\n" + own), ElementsAre("async_hazard 4/1"));
  // The barrier alone does not wait for the copies.
  EXPECT_THAT(Find(copy + "bar.sync 0;\n" + own), ElementsAre("async_hazard 4/1"));
}

TEST_F(RaceTest, NamedBarriersOrderThoseThatTakePart) {
  // Warp 0 writes and arrives, warp 1 syncs and reads.
  const std::string text =
      "setp.lt.u32 %p2, %r0, 32;\n@!%p2 bra READ;\nst.shared.u32 [%r3], 1;\n"
      "bar.arrive 1, 64;\nbra DONE;\nREAD: bar.sync 1, 64;\nld.shared.u32 %r4, [%r3-128];\n";
  EXPECT_THAT(Find(text + "DONE:"), IsEmpty());
  // What is written behind the arrival is not covered.
  EXPECT_THAT(Find("setp.lt.u32 %p2, %r0, 32;\n@!%p2 bra READ;\nbar.arrive 1, 64;\n"
                   "st.shared.u32 [%r3], 1;\nbra DONE;\nREAD: bar.sync 1, 64;\n"
                   "ld.shared.u32 %r4, [%r3-128];\nDONE:"),
              ElementsAre("race 7/4"));
}

TEST_F(RaceTest, VolatileDoesNotReplaceSyncwarp) {
  EXPECT_THAT(Find("st.volatile.shared.u32 [%r3], %r0;\n"
                   "ld.volatile.shared.u32 %r4, [%r3+4];\nst.volatile.shared.u32 [%r3], %r4;"),
              ::testing::Contains(::testing::StartsWith("race ")));
}

// Two kernels that write one word each `grid` in streams of their own, or one after the other.
std::vector<Finding> TwoKernels(bool ordered, bool host_waits) {
  vgpu::TestGpu gpu;
  EXPECT_TRUE(gpu.Load(".visible .entry k(.param .u64 p) {\n.reg .b64 %rd0; .reg .b32 %r0;\n"
                       "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x;\n"
                       "mad.wide.u32 %rd0, %r0, 4, %rd0;\nst.global.u32 [%rd0], %r0;\nret;\n}\n")
                  .ok());
  const std::vector<uint64_t> arguments{gpu.Buffer(std::vector<uint32_t>(64))};
  FindingSink sink;
  RaceChecker checker(sink, gpu.gpu());
  const std::array<uint64_t, 1> first{1};
  checker.OnSubmit(1, {});
  for (uint64_t operation = 1; operation <= 2; ++operation) {
    if (operation == 2 && host_waits) checker.OnHostWait(first);
    if (operation == 2) {
      checker.OnSubmit(2, ordered ? std::span<const uint64_t>(first) : std::span<const uint64_t>());
    }
    const auto result = gpu.gpu().Launch({.module = &gpu.module(),
                                          .entry = "k",
                                          .grid = {1, 1, 1},
                                          .block = {32, 1, 1},
                                          .parameters = std::as_bytes(std::span(arguments)),
                                          .observer = &checker,
                                          .operation = operation});
    EXPECT_TRUE(result.ok() && !result->fault);
  }
  return sink.Findings();
}

TEST(RaceBetweenKernels, StreamsEventsAndTheHostOrderThem) {
  EXPECT_TRUE(TwoKernels(true, false).empty());
  EXPECT_TRUE(TwoKernels(false, true).empty());
  const auto found = TwoKernels(false, false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FindingKind::kRaceSameValue);
  EXPECT_EQ(found[0].count, 32u);
  EXPECT_THAT(found[0].message, ::testing::HasSubstr("no stream or event orders the two kernels"));
}

// The second kernel may begin before the first has ended; it writes the same words before or after
// it has waited.
std::vector<Finding> DependentKernels(const std::string& before, const std::string& after) {
  vgpu::TestGpu gpu;
  EXPECT_TRUE(gpu.Load(".visible .entry k(.param .u64 p) {\n.reg .b64 %rd0; .reg .b32 %r0;\n"
                       "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x;\n"
                       "mad.wide.u32 %rd0, %r0, 4, %rd0;\n" +
                       before + "st.global.u32 [%rd0], %r0;\n" + after + "ret;\n}\n")
                  .ok());
  const std::vector<uint64_t> arguments{gpu.Buffer(std::vector<uint32_t>(64))};
  FindingSink sink;
  RaceChecker checker(sink, gpu.gpu());
  const std::array<uint64_t, 1> first{1};
  for (uint64_t operation = 1; operation <= 2; ++operation) {
    checker.OnSubmit(operation, {});
    if (operation == 2) checker.OnMayBeginEarly(2, first);
    const auto result = gpu.gpu().Launch({.module = &gpu.module(),
                                          .entry = "k",
                                          .grid = {1, 1, 1},
                                          .block = {32, 1, 1},
                                          .parameters = std::as_bytes(std::span(arguments)),
                                          .observer = &checker,
                                          .operation = operation});
    EXPECT_TRUE(result.ok() && !result->fault);
  }
  return sink.Findings();
}

TEST(RaceBetweenKernels, DependentLaunchesMustWaitFirst) {
  const std::string wait = "griddepcontrol.wait;\n";
  EXPECT_TRUE(DependentKernels(wait, "").empty());
  EXPECT_EQ(DependentKernels("", wait).size(), 1u);
  EXPECT_EQ(DependentKernels("griddepcontrol.launch_dependents;\n", "").size(), 1u);
}

TEST(VectorClock, JoinsKeepTheLaterClock) {
  VectorClock a = VectorClock::Of(3, 1, 5, 9);
  a.Join(VectorClock::Of(70000, 2, 1, 4));
  a.Join(VectorClock::Of(3, 4, 7, 6));
  EXPECT_EQ(a.ClockOf(3, 5), 9u);
  EXPECT_EQ(a.ClockOf(3, 7), 6u);
  EXPECT_EQ(a.ClockOf(3, 8), 4u);
  EXPECT_EQ(a.ClockOf(70000, 1), 4u);
  EXPECT_EQ(a.ClockOf(70000, 0), 2u);
  EXPECT_EQ(a.ClockOf(4, 0), 0u);
}

TEST(OperationOrder, FollowsStreamsEventsAndTheHost) {
  OperationOrder order;
  order.Submit(1, {});
  order.Submit(2, {});
  order.Submit(3, std::array<uint64_t, 1>{1});
  order.Submit(4, std::array<uint64_t, 2>{2, 3});
  EXPECT_FALSE(order.Before(2).Contains(1));
  EXPECT_FALSE(order.Before(3).Contains(2));
  EXPECT_TRUE(order.Before(4).Contains(1));
  EXPECT_TRUE(order.Before(4).Contains(2));
  order.HostWait(std::array<uint64_t, 1>{4});
  order.Submit(5, {});
  EXPECT_TRUE(order.Before(5).Contains(3));
}

}  // namespace
}  // namespace kernelsmith::checkers
