#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/environment_labels.h"
#include "checkers/environment_sources.h"
#include "checkers/suite.h"
#include "vgpu/testing.h"

namespace kernelsmith::checkers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Runs one kernel of two pointers and says which lines of its body decide by what: "2 clock". Lines
// count from the first of the body; 0 is what an output holds in the end.
class EnvironmentTest : public ::testing::Test {
 protected:
  std::vector<std::string> Find(const std::string& body) {
    const std::string text =
        ".global .align 8 .u64 table[2];\n"
        ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
        ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>; .reg .f32 %f<9>; "
        ".shared .align 16 .b8 s[4096]; .shared .align 8 .b8 t[64];\n"
        "ld.param.u64 %rd0, [p]; ld.param.u64 %rd1, [q]; mov.u32 %r0, %tid.x;\n" +
        body + "\nret;\n}\n";
    constexpr int kFirstLine = 8;
    const Status loaded = gpu_.Load(text);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().Format());
    if (!loaded.ok()) return {"does not load"};
    const uint64_t p = gpu_.Buffer(std::vector<uint32_t>(1024));
    const uint64_t q = gpu_.Buffer(std::vector<uint32_t>(1024));
    const std::vector<uint32_t> pointers = {0, 8};
    const auto kernel = gpu_.module().Prepare("k");
    EXPECT_TRUE(kernel.ok());
    watched_ = MayDependOnEnvironment(**kernel, {0, 8});
    FindingSink sink;
    const auto checker = MakeEnvironmentChecker(sink, gpu_.gpu());
    checker->OnParameterPointers(pointers);
    const auto result = gpu_.Launch("k", {1, 1, 1}, {32, 1, 1}, {p, q}, 0, false, checker.get());
    EXPECT_TRUE(result.ok() && !result->fault)
        << (result.ok() ? result->fault->message : result.error().Format());
    checker->OnHostRead(q, 4096, {});
    std::vector<std::string> found;
    for (const Finding& finding : sink.Findings()) {
      const bool output = finding.message.starts_with("an output");
      std::string text =
          output ? "output" : std::to_string(finding.place.ptx.line - kFirstLine + 1);
      if ((finding.environment & environment::kClock) != 0) text += " clock";
      if ((finding.environment & environment::kPlace) != 0) text += " place";
      if ((finding.environment & environment::kAddress) != 0) text += " address";
      found.push_back(text);
    }
    return found;
  }

  vgpu::TestGpu gpu_;
  bool watched_ = false;  // the first look did not clear the kernel
};

TEST_F(EnvironmentTest, PlainKernelsNeedNoWatching) {
  EXPECT_THAT(
      Find("mul.wide.u32 %rd2, %r0, 4; add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2;\n"
           "ld.global.u32 %r1, [%rd3]; mov.u32 %r2, s; st.shared.u32 [%r2], %r1;\n"
           "setp.eq.s64 %p1, %rd0, 0; @%p1 bra DONE; st.global.u32 [%rd4], %r1; DONE:"),
      IsEmpty());
  EXPECT_FALSE(watched_);
}

TEST_F(EnvironmentTest, AClockDecidesABranch) {
  EXPECT_THAT(Find("mov.u64 %rd2, %clock64; setp.eq.u64 %p1, %rd2, 12345;\n"
                   "@%p1 st.global.u32 [%rd1], %r0;"),
              ElementsAre("2 clock"));
  EXPECT_TRUE(watched_);
}

TEST_F(EnvironmentTest, AGuardThatHoldsNowhereDecidesToo) {
  EXPECT_THAT(Find("mov.u32 %r1, %smid; setp.gt.u32 %p1, %r1, 100000;\n"
                   "@%p1 mov.u32 %r2, 7;"),
              ElementsAre("2 place"));
}

TEST_F(EnvironmentTest, ASelectedValueIsReportedInTheOutput) {
  EXPECT_THAT(Find("mov.u32 %r1, %warpid; setp.gt.u32 %p1, %r1, 40; selp.u32 %r2, 1, 2, %p1;\n"
                   "st.global.u32 [%rd1], %r2;"),
              ElementsAre("output place"));
  EXPECT_THAT(Find("mov.u32 %r1, %smid; st.global.u32 [%rd0], %r1;"), IsEmpty());
}

TEST_F(EnvironmentTest, ATableByAPlaceGivesWhatDepends) {
  EXPECT_THAT(Find("mov.u32 %r1, %nsmid; and.b32 %r1, %r1, 7; mul.wide.u32 %rd2, %r1, 4;\n"
                   "add.s64 %rd2, %rd0, %rd2; ld.global.u32 %r2, [%rd2];\n"
                   "st.global.u32 [%rd1], %r2;"),
              ElementsAre("output place"));
  EXPECT_THAT(Find("mov.u32 %r1, %nsmid; and.b32 %r1, %r1, 7; mul.wide.u32 %rd2, %r1, 4;\n"
                   "add.s64 %rd2, %rd1, %rd2;\n"
                   "st.global.u32 [%rd2], %r0;"),
              ElementsAre("3 place"));
}

TEST_F(EnvironmentTest, LowBitsOfAddressesMayDecide) {
  const std::string test = "and.b64 %rd2, %rd0, MASK; setp.ne.s64 %p1, %rd2, 0;\n@%p1 trap;";
  const auto with = [&](const std::string& mask) {
    std::string text = test;
    return Find(text.replace(text.find("MASK"), 4, mask));
  };
  EXPECT_THAT(with("15"), IsEmpty());
  EXPECT_THAT(with("255"), IsEmpty());
  EXPECT_THAT(with("0x1000000000000000"), ElementsAre("2 address"));
}

TEST_F(EnvironmentTest, TheWayToTheNextMultipleIsTheSameEverywhere) {
  EXPECT_THAT(Find("cvt.u32.u64 %r1, %rd1; shr.u32 %r1, %r1, 2; neg.s32 %r1, %r1;\n"
                   "and.b32 %r1, %r1, 3; setp.eq.s32 %p1, %r1, 0;\n@%p1 bra N; N:"),
              IsEmpty());
  // In multiples of 4 KiB it is not.
  EXPECT_THAT(Find("cvt.u32.u64 %r1, %rd1; shr.u32 %r1, %r1, 2; neg.s32 %r1, %r1;\n"
                   "and.b32 %r1, %r1, 1023; setp.eq.s32 %p1, %r1, 0;\n@%p1 bra N; N:"),
              ElementsAre("3 address"));
}

TEST_F(EnvironmentTest, PointersOfOneAllocationMayBeCompared) {
  EXPECT_THAT(Find("add.s64 %rd2, %rd0, 64; mov.u64 %rd3, %rd0;\n"
                   "LOOP: add.s64 %rd3, %rd3, 16; setp.lt.u64 %p1, %rd3, %rd2; @%p1 bra LOOP;\n"
                   "sub.s64 %rd4, %rd3, %rd0; st.global.u64 [%rd1], %rd4;"),
              IsEmpty());
  EXPECT_TRUE(watched_);
  EXPECT_THAT(Find("setp.gt.u64 %p1, %rd0, %rd1;\n@%p1 trap;"), ElementsAre("2 address"));
}

TEST_F(EnvironmentTest, ComparisonsThatWrapAreBitsOfAnAddress) {
  EXPECT_THAT(Find("add.s64 %rd2, %rd0, 0x7000000000000000; add.s64 %rd2, %rd2, "
                   "0x7fff000000000000; setp.eq.u64 %p2, %rd2, %rd0; setp.gt.u64 %p1, %rd2, %rd0;\n"
                   "@%p1 bra NEXT; NEXT:"),
              ElementsAre("2 address"));
}

TEST_F(EnvironmentTest, DistancesCancel) {
  // As compilers walk two arrays by one pointer.
  EXPECT_THAT(Find("sub.s64 %rd2, %rd1, %rd0; add.s64 %rd3, %rd0, 8; add.s64 %rd4, %rd3, %rd2;\n"
                   "st.global.u32 [%rd4], %r0;"),
              IsEmpty());
  EXPECT_THAT(Find("sub.s64 %rd2, %rd1, %rd0; setp.eq.s64 %p1, %rd2, 8192;\n@%p1 bra N; N:"),
              ElementsAre("2 address"));
}

TEST_F(EnvironmentTest, HalvesOfOneAddressMakeItAgain) {
  EXPECT_THAT(Find("mov.b64 {%r1, %r2}, %rd1; shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;\n"
                   "shfl.sync.idx.b32 %r4, %r2, 0, 31, -1; mov.b64 %rd2, {%r3, %r4};\n"
                   "st.global.u32 [%rd2], %r0;"),
              IsEmpty());
  // The upper half of another address carries where this one does not.
  EXPECT_THAT(
      Find("mov.b64 {%r1, %r2}, %rd1; add.s64 %rd3, %rd1, 0x80000; "
           "mov.b64 {%r5, %r6}, %rd3; mov.b64 %rd2, {%r1, %r6}; setp.eq.s64 %p1, %rd2, %rd1;\n"
           "@%p1 bra N; N:"),
      ElementsAre("2 address"));
}

// As the barrier of cooperative groups does it: the upper half comes out of a bit field, and the
// halves are put together by another.
TEST_F(EnvironmentTest, HalvesOfOneAddressGoThroughBitFields) {
  EXPECT_THAT(Find("bfe.u64 %rd2, %rd1, 32, 32; bfi.b64 %rd3, %rd2, %rd1, 32, 32;\n"
                   "st.global.u32 [%rd3], %r0;"),
              IsEmpty());
  EXPECT_THAT(Find("bfe.u64 %rd2, %rd1, 32, 32; setp.eq.s64 %p1, %rd2, 8192;\n@%p1 bra N; N:"),
              ElementsAre("2 address"));
  // Low bits of one in the place of high bits of the other are no address.
  EXPECT_THAT(Find("bfi.b64 %rd3, %rd1, %rd0, 32, 32; setp.eq.s64 %p1, %rd3, 8192;\n"
                   "@%p1 bra N; N:"),
              ElementsAre("2 address"));
}

TEST_F(EnvironmentTest, SharedMemoryCarriesWhatIsStored) {
  EXPECT_THAT(Find("mov.u32 %r1, s; st.shared.u64 [%r1], %rd0; bar.sync 0;\n"
                   "ld.shared.u32 %r2, [%r1+4]; setp.eq.u32 %p1, %r2, 5;\n"
                   "@%p1 trap;"),
              ElementsAre("3 address"));
  EXPECT_THAT(Find("mov.u32 %r1, s; st.shared.u64 [%r1], %rd1; bar.sync 0;\n"
                   "ld.shared.u64 %rd2, [%r1]; st.global.u32 [%rd2], %r0;"),
              IsEmpty());
}

TEST_F(EnvironmentTest, SwizzlesBelowTheAlignmentAreTheSameEverywhere) {
  EXPECT_THAT(
      Find("mov.u32 %r1, s; shl.b32 %r2, %r0, 2; and.b32 %r2, %r2, 12; add.u32 %r1, %r1, %r2;\n"
           "shr.u32 %r3, %r1, 1; and.b32 %r3, %r3, 4; xor.b32 %r1, %r1, %r3;\n"
           "st.shared.u32 [%r1], %r0; ld.shared.u32 %r4, [%r1]; st.global.u32 [%rd1], %r4;"),
      IsEmpty());
  // Which of two variables comes first is the compiler's choice.
  EXPECT_THAT(Find("mov.u32 %r1, s; mov.u32 %r2, t; setp.lt.u32 %p1, %r1, %r2;\n@%p1 bra N; N:"),
              ElementsAre("2 address"));
}

TEST_F(EnvironmentTest, WindowsAreAddresses) {
  EXPECT_THAT(Find("mov.u64 %rd2, s; cvta.shared.u64 %rd3, %rd2; shr.u64 %rd4, %rd3, 24;\n"
                   "setp.eq.u64 %p1, %rd4, 77;\n"
                   "@%p1 trap;"),
              ElementsAre("3 address"));
  EXPECT_THAT(Find("mov.u64 %rd2, s; cvta.shared.u64 %rd3, %rd2; isspacep.shared %p1, %rd3;\n"
                   "@!%p1 trap; cvta.to.shared.u64 %rd4, %rd3; st.shared.u32 [%rd4], %r0;"),
              IsEmpty());
}

TEST_F(EnvironmentTest, ConversionsKeepTheIndex) {
  EXPECT_THAT(Find("mov.u64 %rd2, s; cvta.shared.u64 %rd3, %rd2; mov.u32 %r1, %clock;\n"
                   "and.b32 %r1, %r1, 4; cvt.u64.u32 %rd4, %r1; add.s64 %rd3, %rd3, %rd4;\n"
                   "cvta.to.shared.u64 %rd5, %rd3;\n"
                   "st.shared.u32 [%rd5], %r0;"),
              ElementsAre("4 clock address"));
}

TEST_F(EnvironmentTest, GlobalVariablesHaveAddressesToo) {
  EXPECT_THAT(Find("mov.u64 %rd2, table; shr.u64 %rd3, %rd2, 20; cvt.u32.u64 %r1, %rd3;\n"
                   "setp.eq.u32 %p1, %r1, 77;\n"
                   "@%p1 trap;"),
              ElementsAre("3 address"));
}

TEST_F(EnvironmentTest, VotesAndAtomicsPassItOn) {
  EXPECT_THAT(
      Find("mov.u32 %r1, %clock; setp.eq.u32 %p1, %r1, 99; vote.sync.any.pred %p2, %p1, -1;\n"
           "@%p2 trap;"),
      ElementsAre("2 clock"));
  EXPECT_THAT(Find("mov.u32 %r1, %clock; atom.global.max.u32 %r2, [%rd0], %r1;\n"
                   "atom.global.add.u32 %r3, [%rd0], 0; setp.eq.u32 %p1, %r3, 99;\n"
                   "@%p1 bra N; N:"),
              ElementsAre("3 clock"));
}

TEST_F(EnvironmentTest, OrderOfAtomicsIsNobodysBusiness) {
  EXPECT_THAT(Find("atom.global.add.u32 %r2, [%rd0], 1; setp.eq.u32 %p1, %r2, 31;\n"
                   "@%p1 st.global.u32 [%rd1], %r2;"),
              IsEmpty());
}

}  // namespace
}  // namespace kernelsmith::checkers
