#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/suite.h"
#include "vgpu/testing.h"

namespace kernelsmith::checkers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SyncTest : public ::testing::Test {
 protected:
  // Findings as "kind severity line: message", lines of the body counted from 1.
  std::vector<std::string> Find(const std::string& body, uint32_t threads = 64) {
    const std::string text =
        ".visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>;\n"
        "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; "
        "mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1; setp.lt.u32 %p0, %r0, 32; "
        "setp.lt.u32 %p1, %r1, 16;\n" +
        body + "\nst.global.u32 [%rd1], %r9;\nEND: ret;\n}\n";
    constexpr int kFirstLine = 7;
    vgpu::VirtualGpu::Options options;
    options.watchdog = std::chrono::milliseconds(200);
    vgpu::TestGpu gpu(options);
    const Status loaded = gpu.Load(text);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().Format());
    if (!loaded.ok()) return {"does not load"};
    FindingSink sink;
    const auto checker = MakeSyncChecker(sink, gpu.gpu());
    const uint64_t buffer = gpu.Buffer(std::vector<uint32_t>(4096));
    const auto result =
        gpu.Launch("k", {1, 1, 1}, {threads, 1, 1}, {buffer}, 0, false, checker.get());
    EXPECT_TRUE(result.ok());
    std::vector<std::string> found;
    for (const Finding& finding : sink.Findings()) {
      found.push_back(std::string(Name(finding.kind)) + " " + NameOf(finding.severity) + " " +
                      std::to_string(finding.place.ptx.line - kFirstLine + 1) + ": " +
                      finding.message);
    }
    return found;
  }
};

TEST_F(SyncTest, RightUsesAreClean) {
  EXPECT_THAT(Find("bar.sync 0;\nshfl.sync.down.b32 %r9, %r0, 16, 31, -1;\n"
                   "bar.sync 1, 64;\nvote.sync.ballot.b32 %r9, %p1, -1;"),
              IsEmpty());
  // Lanes that left the kernel need not come.
  EXPECT_THAT(Find("@%p1 bra END;\nshfl.sync.idx.b32 %r9, %r0, 20, 31, -1;"), IsEmpty());
  // The upper half reads beyond the mask and its sums are thrown away.
  EXPECT_THAT(Find("@!%p1 bra SKIP;\nshfl.sync.down.b32 %r9, %r0, 8, 31, 65535;\n"
                   "add.u32 %r9, %r9, %r0;\nSKIP:"),
              IsEmpty());
}

TEST_F(SyncTest, DifferentBarriers) {
  EXPECT_THAT(Find("@%p0 bra A;\nbar.sync 0;\nbra J;\nA: bar.sync 0;\nJ:"),
              ElementsAre(HasSubstr("barrier_divergence error ")));
  EXPECT_THAT(Find("@%p0 bra A;\nbar.sync 3, 64;\nbra J;\nA: bar.arrive 3, 64;\nJ:"), IsEmpty());
}

TEST_F(SyncTest, PartOfTheBlock) {
  EXPECT_THAT(Find("@%p0 bra J;\nbar.sync 0;\nJ: st.global.u32 [%rd1], %r0;"),
              ElementsAre(HasSubstr("barrier_divergence error 2: only 32 of 64 threads")));
  EXPECT_THAT(Find("@%p0 bra END;\nbar.sync 0;"),
              ElementsAre(HasSubstr("barrier_divergence note 2: only 32 of 64 threads")));
}

TEST_F(SyncTest, CountsThatDiffer) {
  EXPECT_THAT(Find("@%p0 bra A;\nbar.sync 2, 32;\nbra J;\nA: bar.sync 2, 64;\nJ:"),
              ElementsAre(HasSubstr("barrier_divergence error 2: barrier 2")));
}

TEST_F(SyncTest, DeadlockSaysWhoWaits) {
  EXPECT_THAT(Find("@%p0 bra A;\nbar.sync 1;\nbra J;\nA: bar.sync 2;\nJ:"),
              ElementsAre(::testing::AllOf(HasSubstr("deadlock error 2"),
                                           HasSubstr("32 threads at barrier 1 in line 8"),
                                           HasSubstr("32 threads at barrier 2 in line 10"))));
}

TEST_F(SyncTest, WaitingForWhatNobodySets) {
  EXPECT_THAT(Find("W: ld.volatile.global.u32 %r9, [%rd0+64];\nsetp.eq.u32 %p2, %r9, 0;\n"
                   "@%p2 bra W;"),
              ElementsAre(HasSubstr("livelock error 1")));
}

TEST_F(SyncTest, Masks) {
  EXPECT_THAT(Find("shfl.sync.idx.b32 %r9, %r0, 0, 31, 65535;"),
              ElementsAre(HasSubstr("shuffle_mask error 1: shuffle: lane 16 is not in the mask")));
  EXPECT_THAT(Find("@!%p1 bra J;\nvote.sync.ballot.b32 %r9, %p0, -1;\nbra J2;\nJ: bar.sync 0;\n"
                   "J2:",
                   32),
              ::testing::Contains(HasSubstr("shuffle_mask error 2: vote")));
  EXPECT_THAT(
      Find("@!%p1 bra J;\nshfl.sync.idx.b32 %r9, %r0, 20, 31, 65535;\nadd.u32 %r9, %r9, 1;\n"
           "J:"),
      ElementsAre(HasSubstr("shuffle_mask error 2: shuffle: lane 0 reads lane 20")));
  EXPECT_THAT(Find("selp.b32 %r3, 65535, -1, %p1;\nshfl.sync.idx.b32 %r9, %r0, 0, 31, %r3;"),
              ElementsAre(HasSubstr("different masks")));
}

TEST_F(SyncTest, LanesThatPassedBy) {
  EXPECT_THAT(Find("@!%p1 bra J;\nshfl.sync.down.b32 %r9, %r0, 8, 31, -1;\nJ:"),
              ElementsAre(HasSubstr("shuffle_mask error 2: shuffle: the mask 0xffffffff names")));
}

}  // namespace
}  // namespace kernelsmith::checkers
