#include "verify/path_coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpu/testing.h"

namespace kernelsmith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Line 5 runs only where n is above 100; line 6 selects by a comparison and has no branch; lines 7
// and 8 ask whether the block is beyond the tenth.
constexpr const char* kKernel =
    ".visible .entry k(.param .u64 p, .param .u64 n) {\n"
    ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n"
    "ld.param.u64 %rd0, [p]; ld.param.u64 %rd1, [n]; mov.u32 %r0, %ctaid.x;\n"
    "setp.le.u64 %p0, %rd1, 100; @%p0 bra SMALL;\n"
    "mov.u32 %r1, 1;\n"
    "SMALL: setp.gt.u64 %p1, %rd1, 10; selp.u32 %r2, 1, 2, %p1;\n"
    "setp.gt.u32 %p2, %r0, 10;\n"
    "@%p2 mov.u32 %r3, 5;\n"
    "st.global.u32 [%rd0], %r2;\n"
    "ret;\n}\n";

class PathCoverageTest : public ::testing::Test {
 protected:
  PathCoverageTest() {
    const Status loaded = gpu_.Load(kKernel);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().Format());
    buffer_ = gpu_.Buffer(std::vector<uint32_t>(1));
  }

  void Run(PathCoverage& coverage, uint64_t n, uint32_t blocks = 1) {
    const auto result =
        gpu_.Launch("k", {blocks, 1, 1}, {32, 1, 1}, {buffer_, n}, 0, false, &coverage);
    EXPECT_TRUE(result.ok() && !result->fault);
  }

  // Lines of the kernel's text, from 1, that `here` has and `known` has not.
  static std::vector<int> Lines(const PathCoverage& here, const PathCoverage& known) {
    constexpr int kHeader = 3;  // lines that TestGpu puts before it
    std::vector<int> lines;
    for (const PathCoverage::Way& way : here.Beyond(known)) {
      EXPECT_EQ(way.function, "k");
      lines.push_back(way.where.line - kHeader);
    }
    return lines;
  }

  vgpu::TestGpu gpu_;
  uint64_t buffer_ = 0;
};

TEST_F(PathCoverageTest, TheSameWayIsNothingNew) {
  PathCoverage known, here;
  Run(known, 50);
  Run(here, 60);
  EXPECT_THAT(Lines(here, known), IsEmpty());
}

TEST_F(PathCoverageTest, ABranchThatOnlyTheLargeShapeTakesIsNew) {
  PathCoverage known, here;
  Run(known, 50);
  Run(here, 101);
  // The comparison that was never false, and what runs behind it.
  EXPECT_THAT(Lines(here, known), ElementsAre(4, 5));
  // The other way around: what the large shape leaves out is the comparison's other side.
  EXPECT_THAT(Lines(known, here), ElementsAre(4));
}

TEST_F(PathCoverageTest, ASelectionWithoutABranchIsAWay) {
  PathCoverage known, here;
  Run(known, 5);
  Run(here, 50);
  EXPECT_THAT(Lines(here, known), ElementsAre(6));
}

TEST_F(PathCoverageTest, SeveralKnownRunsAddUp) {
  PathCoverage known, here;
  Run(known, 5);
  Run(known, 50);
  Run(known, 500);
  Run(here, 200);
  Run(here, 7);
  EXPECT_THAT(Lines(here, known), IsEmpty());
}

TEST_F(PathCoverageTest, BlocksOfTheSampleAloneAreSeen) {
  PathCoverage known, first, last;
  Run(known, 50);
  first.SetSample({0});
  Run(first, 50, 12);
  EXPECT_THAT(Lines(first, known), IsEmpty());
  last.SetSample({0, 11});
  Run(last, 50, 12);
  EXPECT_THAT(Lines(last, known), ElementsAre(7, 8));
}

TEST_F(PathCoverageTest, AKernelThatWasNeverSeenIsAllNew) {
  PathCoverage known, here;
  Run(here, 50);
  // Line 5 was skipped, line 8 guarded; nothing comes after `ret`.
  EXPECT_THAT(Lines(here, known), ElementsAre(3, 4, 6, 7, 9));
}

}  // namespace
}  // namespace kernelsmith
