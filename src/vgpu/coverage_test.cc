// What a launch covers, and that both engines say the same.

#include "vgpu/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "vgpu/testing.h"

namespace kernelsmith::vgpu {
namespace {

class CoverageTest : public testing::Test {
 protected:
  // Parameters: an address and three numbers.
  void Load(const std::string& body) {
    const Status loaded = gpu_.Load(
        ".visible .entry k(.param .u64 out, .param .u64 n, .param .u64 m, .param .u64 q) {\n"
        ".reg .b32 %r<24>; .reg .b64 %rd<16>; .reg .pred %p<8>;\n"
        "ld.param.u64 %rd0, [out]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [m];\n"
        "mov.u32 %r2, %tid.x; mov.u32 %r3, 0;\n" +
        body + "\nmad.wide.u32 %rd1, %r2, 4, %rd0; st.global.u32 [%rd1], %r3;\nret; }\n");
    ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
    const auto kernel = gpu_.module().Prepare("k");
    ASSERT_TRUE(kernel.ok());
    items_ = CoverageItems(**kernel);
    out_ = gpu_.Buffer(std::vector<uint32_t>(1024));
  }

  CoverageRecord Cover(Engine engine, uint32_t n, uint32_t m, uint32_t threads) {
    gpu_.gpu().options().settings.engine = engine;
    gpu_.gpu().options().settings.jit_thorough = true;
    CoverageRecord record;
    const std::vector<uint64_t> arguments{out_, n, m, 0};
    const auto result = gpu_.gpu().Launch({.module = &gpu_.module(),
                                           .entry = "k",
                                           .grid = {2, 1, 1},
                                           .block = {threads, 1, 1},
                                           .parameters = std::as_bytes(std::span(arguments)),
                                           .coverage = &record});
    EXPECT_TRUE(result.ok());
    if (!result.ok()) return record;
    EXPECT_FALSE(result->fault) << result->fault->message;
    EXPECT_EQ(result->compiled, engine == Engine::kJit) << result->fallback;
    return record;
  }

  // By both engines, which must agree.
  CoverageRecord Cover(uint32_t n, uint32_t m = 0, uint32_t threads = 64) {
    CoverageRecord interpreted = Cover(Engine::kInterpreter, n, m, threads);
    const CoverageRecord compiled = Cover(Engine::kJit, n, m, threads);
    EXPECT_EQ(interpreted.items(), items_.size());
    for (const CoverageItem& item : items_) {
      EXPECT_EQ(interpreted.Covers(item.number), compiled.Covers(item.number)) << item.words;
    }
    return interpreted;
  }

  // Which of the items of these kinds are covered, in order.
  std::vector<bool> Covered(const CoverageRecord& record, CoverageKind first, CoverageKind last) {
    std::vector<bool> covered;
    for (const CoverageItem& item : items_) {
      if (item.kind >= first && item.kind <= last) covered.push_back(record.Covers(item.number));
    }
    return covered;
  }
  std::vector<bool> Trips(const CoverageRecord& record) {
    return Covered(record, CoverageKind::kLoopNever, CoverageKind::kLoopMany);
  }
  std::vector<bool> Sides(const CoverageRecord& record) {
    return Covered(record, CoverageKind::kTrue, CoverageKind::kFalse);
  }

  TestGpu gpu_;
  std::vector<CoverageItem> items_;
  uint64_t out_ = 0;
};

using Bits = std::vector<bool>;

constexpr char kTestedFirst[] =
    "LOOP: setp.ge.u32 %p0, %r3, %r0; @%p0 bra DONE;\n"
    "add.u32 %r3, %r3, 1; bra LOOP;\nDONE:";

TEST_F(CoverageTest, ALoopThatTestsFirst) {
  Load(kTestedFirst);
  EXPECT_EQ(Trips(Cover(0)), (Bits{true, false, false}));
  EXPECT_EQ(Trips(Cover(1)), (Bits{false, true, false}));
  EXPECT_EQ(Trips(Cover(2)), (Bits{false, false, true}));
  EXPECT_EQ(Trips(Cover(9)), (Bits{false, false, true}));
  const auto many = std::find_if(items_.begin(), items_.end(), [](const CoverageItem& item) {
    return item.kind == CoverageKind::kLoopMany;
  });
  ASSERT_NE(many, items_.end());
  EXPECT_EQ(many->words, "the loop at test.ptx:8 runs more than once");
}

TEST_F(CoverageTest, ALoopThatTestsLast) {
  Load("LOOP: add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, %r0; @%p0 bra LOOP;\n");
  EXPECT_EQ(Trips(Cover(1)), (Bits{true, false, false}));
  EXPECT_EQ(Trips(Cover(2)), (Bits{false, true, false}));
  EXPECT_EQ(Trips(Cover(3)), (Bits{false, false, true}));
}

TEST_F(CoverageTest, EachThreadCountsItsOwnTrips) {
  Load(
      "LOOP: setp.ge.u32 %p0, %r3, %r2; @%p0 bra DONE;\n"
      "add.u32 %r3, %r3, 1; bra LOOP;\nDONE:");
  EXPECT_EQ(Trips(Cover(0, 0, 1)), (Bits{true, false, false}));
  EXPECT_EQ(Trips(Cover(0, 0, 2)), (Bits{true, true, false}));
  EXPECT_EQ(Trips(Cover(0, 0, 64)), (Bits{true, true, true}));
}

TEST_F(CoverageTest, AnInnerLoopBeginsAnew) {
  Load(
      "mov.u32 %r4, 0;\n"
      "OUTER: mov.u32 %r5, 0;\n"
      "INNER: add.u32 %r5, %r5, 1; add.u32 %r3, %r3, %r5; setp.lt.u32 %p0, %r5, %r1;\n"
      "@%p0 bra INNER;\n"
      "add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r0; @%p1 bra OUTER;\n");
  EXPECT_EQ(Trips(Cover(5, 1)), (Bits{false, false, true, true, false, false}));
  EXPECT_EQ(Trips(Cover(5, 2)), (Bits{false, false, true, false, true, false}));
  EXPECT_EQ(Trips(Cover(1, 7)), (Bits{true, false, false, false, false, true}));
}

TEST_F(CoverageTest, ALoopWithABarrierKeepsCountAcrossIt) {
  Load("LOOP: bar.sync 0; add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, %r0; @%p0 bra LOOP;\n");
  EXPECT_EQ(Trips(Cover(1)), (Bits{true, false, false}));
  EXPECT_EQ(Trips(Cover(2)), (Bits{false, true, false}));
  EXPECT_EQ(Trips(Cover(4)), (Bits{false, false, true}));
}

TEST_F(CoverageTest, ThreadsThatExitFromALoopLeaveIt) {
  Load(
      "LOOP: setp.eq.u32 %p0, %r3, %r2; @%p0 exit;\n"
      "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r0; @%p1 bra LOOP;\n");
  EXPECT_EQ(Trips(Cover(100, 0, 1)), (Bits{true, false, false}));
  EXPECT_EQ(Trips(Cover(100, 0, 32)), (Bits{true, true, true}));
  EXPECT_EQ(Trips(Cover(1, 0, 32)), (Bits{true, false, false}));
}

TEST_F(CoverageTest, SidesOfGuardsAndSelections) {
  Load(
      "setp.lt.u32 %p0, %r2, %r0; @%p0 add.u32 %r3, %r3, 5; @!%p0 add.u32 %r3, %r3, 6;\n"
      "setp.lt.u32 %p1, %r2, %r1; selp.u32 %r4, 1, 2, %p1; add.u32 %r3, %r3, %r4;\n");
  EXPECT_EQ(Sides(Cover(0, 64)), (Bits{false, true, true, false, true, false}));
  EXPECT_EQ(Sides(Cover(64, 0)), (Bits{true, false, false, true, false, true}));
  EXPECT_EQ(Sides(Cover(40, 63)), (Bits{true, true, true, true, true, true}));
}

TEST_F(CoverageTest, BranchesThatDivideWarps) {
  Load(
      "setp.lt.u32 %p0, %r2, %r0; @%p0 bra LOW;\n"
      "add.u32 %r3, %r3, 1; bra JOIN;\n"
      "LOW: setp.lt.u32 %p1, %r2, %r1; @%p1 bra JOIN; add.u32 %r3, %r3, 7;\n"
      "JOIN: add.u32 %r3, %r3, 9;\n");
  EXPECT_EQ(Sides(Cover(0, 0)), (Bits{false, true, false, false}));
  EXPECT_EQ(Sides(Cover(64, 64)), (Bits{true, false, true, false}));
  EXPECT_EQ(Sides(Cover(64, 0)), (Bits{true, false, false, true}));
  EXPECT_EQ(Sides(Cover(20, 0)), (Bits{true, true, false, true}));
  EXPECT_EQ(Sides(Cover(20, 10)), (Bits{true, true, true, true}));
  for (const uint32_t threads : {1u, 20u, 33u, 64u}) Cover(20, 10, threads);
}

TEST_F(CoverageTest, CalledFunctionsHaveItems) {
  const Status loaded = gpu_.Load(
      ".func (.param .b32 r) f(.param .b32 a) {\n"
      ".reg .b32 %r<4>; .reg .pred %p<2>; ld.param.u32 %r0, [a]; mov.u32 %r1, 0;\n"
      "LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r0; @%p0 bra LOOP;\n"
      "st.param.u32 [r], %r1; ret; }\n"
      ".visible .entry k(.param .u64 out, .param .u64 n) {\n"
      ".reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd0, [out]; ld.param.u32 %r0, [n];\n"
      "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r0;\n"
      "call (y), f, (x); ld.param.b32 %r1, [y]; }\n"
      "st.global.u32 [%rd0], %r1; ret; }\n");
  ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
  items_ = CoverageItems(**gpu_.module().Prepare("k"));
  out_ = gpu_.Buffer(std::vector<uint32_t>(4));
  EXPECT_EQ(Trips(Cover(1)), (Bits{true, false, false}));
  EXPECT_EQ(Trips(Cover(3)), (Bits{false, false, true}));
}

TEST_F(CoverageTest, RecordsAreMerged) {
  Load(kTestedFirst);
  CoverageRecord all = Cover(0);
  EXPECT_TRUE(all.Merge(Cover(1)));
  EXPECT_FALSE(all.Merge(Cover(1)));
  EXPECT_TRUE(all.Merge(Cover(2)));
  EXPECT_EQ(all.CountCovered(), items_.size());
}

TEST_F(CoverageTest, EveryItemHasAPlaceAndWords) {
  Load(kTestedFirst);
  for (size_t i = 0; i < items_.size(); ++i) {
    EXPECT_EQ(items_[i].number, i);
    EXPECT_GT(items_[i].ptx.line, 0);
    EXPECT_FALSE(items_[i].words.empty());
  }
}

}  // namespace
}  // namespace kernelsmith::vgpu
