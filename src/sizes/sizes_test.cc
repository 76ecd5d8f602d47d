// Kernels by hand whose answer is worked out by hand, each beside wrong twins that differ in one
// instruction or one number of the launch. A twin that is proved would be a false proof.
#include "sizes/sizes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "sizes/parameter_names.h"
#include "sizes/prover.h"

namespace kernelsmith::sizes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A launch of "k" whose parameters are pointers to buffers, then 32-bit numbers. The last buffer is
// the result.
struct Launch {
  std::vector<uint64_t> buffers;  // bytes
  std::vector<int32_t> numbers;
  vgpu::Dim3 grid;
  vgpu::Dim3 block;
};

Plan PlanOf(const Launch& launch) {
  Plan plan;
  LaunchStep step{.kernel = "k", .grid = launch.grid, .block = launch.block};
  for (uint32_t i = 0; i < launch.buffers.size(); ++i) {
    plan.buffers.push_back({.bytes = launch.buffers[i]});
    step.pointers.push_back({.at = 8 * i, .target = {.buffer = i}});
  }
  step.parameters.resize(8 * launch.buffers.size() + 4 * launch.numbers.size());
  std::memcpy(step.parameters.data() + 8 * launch.buffers.size(), launch.numbers.data(),
              4 * launch.numbers.size());
  const auto result = static_cast<uint32_t>(launch.buffers.size() - 1);
  plan.outputs.push_back({.dtype = DType::kInt8,
                          .shape = {static_cast<int64_t>(launch.buffers.back())},
                          .strides = {1},
                          .at = {.buffer = result}});
  plan.steps.push_back({.action = std::move(step)});
  return plan;
}

// `body` with parameters p0.. (64 bits), then n0.. (32 bits), loaded to %rd1.. and %r1..
SizesProof Prove(const std::string& body, const std::vector<Launch>& launches) {
  const size_t pointers = launches[0].buffers.size();
  const size_t numbers = launches[0].numbers.size();
  std::vector<std::string> parameters;
  std::string loads;
  for (size_t i = 0; i < pointers; ++i) {
    parameters.push_back(fmt::format(".param .u64 p{}", i));
    loads += fmt::format("ld.param.u64 %rd{}, [p{}];\n", i + 1, i);
  }
  for (size_t i = 0; i < numbers; ++i) {
    parameters.push_back(fmt::format(".param .u32 n{}", i));
    loads += fmt::format("ld.param.u32 %r{}, [n{}];\n", i + 1, i);
  }
  const std::string text = fmt::format(
      ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k({})\n{{\n"
      ".reg .pred %p<8>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .f32 %f<8>;\n{}{}\n}}\n",
      fmt::join(parameters, ", "), loads, body);
  std::vector<Plan> plans;
  for (const Launch& launch : launches) plans.push_back(PlanOf(launch));
  SizesQuestion question{.ptx = text, .name = "k.ptx"};
  for (const Plan& plan : plans) question.plans.push_back(&plan);
  const auto proofs = ProveAllSizes(question);
  EXPECT_TRUE(proofs.ok()) << (proofs.ok() ? "" : proofs.error().Format());
  if (!proofs.ok() || proofs->size() != 1) return {};
  return (*proofs)[0];
}

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

constexpr int64_t kMost = (int64_t{1} << 31) - 1;

// ---- one element a thread: y[i] = x[i] where i < n

const char* const kElements = R"(
mov.u32 %r10, %ctaid.x;
mov.u32 %r11, %ntid.x;
mov.u32 %r12, %tid.x;
mad.lo.s32 %r13, %r10, %r11, %r12;
setp.ge.s32 %p1, %r13, %r1;
@%p1 bra END;
mul.wide.s32 %rd10, %r13, 4;
add.s64 %rd11, %rd1, %rd10;
ld.global.f32 %f1, [%rd11];
add.s64 %rd12, %rd2, %rd10;
st.global.f32 [%rd12], %f1;
END:
ret;
)";

std::vector<Launch> ElementLaunches(uint32_t more_grid = 0, uint64_t less_bytes = 0) {
  std::vector<Launch> launches;
  for (const int32_t n : {1, 5, 256, 257, 1000, 4096}) {
    const auto size = static_cast<uint32_t>(n);
    launches.push_back({.buffers = {4ull * size, 4ull * size - less_bytes},
                        .numbers = {n},
                        .grid = {(size + 255) / 256 + more_grid, 1, 1},
                        .block = {256, 1, 1}});
  }
  return launches;
}

TEST(Sizes, ElementsAreInBoundsAndWrittenOnce) {
  const SizesProof proof = Prove(kElements, ElementLaunches());
  EXPECT_TRUE(proof.in_bounds) << proof.why_not;
  EXPECT_EQ(proof.most, kMost);
  EXPECT_EQ(proof.domain, "argument2 >= 1");
  EXPECT_THAT(proof.covered, ElementsAre("argument1"));
  EXPECT_THAT(proof.assumptions, testing::Contains("gridDim.x = ceil(argument2 / 256)"));
}

TEST(Sizes, AGuardThatLetsOneMoreThroughIsNotProved) {
  const SizesProof proof = Prove(Replace(kElements, "setp.ge", "setp.gt"), ElementLaunches());
  EXPECT_FALSE(proof.in_bounds);
  EXPECT_THAT(proof.why_not, HasSubstr("may be behind"));
}

TEST(Sizes, AMissingGuardIsNotProved) {
  EXPECT_FALSE(Prove(Replace(kElements, "@%p1 bra END;", ""), ElementLaunches()).in_bounds);
}

TEST(Sizes, AGuardThatIsTooStrictLeavesElementsOut) {
  // y[n - 1] is not written.
  const SizesProof proof = Prove(Replace(kElements, "setp.ge.s32 %p1, %r13, %r1;",
                                         "add.s32 %r14, %r13, 1;\nsetp.ge.s32 %p1, %r14, %r1;"),
                                 ElementLaunches());
  EXPECT_TRUE(proof.in_bounds) << proof.why_not;
  EXPECT_THAT(proof.covered, IsEmpty());
  EXPECT_THAT(proof.not_covered, ElementsAre(HasSubstr("argument1")));
}

TEST(Sizes, TheNextElementIsNotProved) {
  EXPECT_FALSE(Prove(Replace(kElements, "[%rd12]", "[%rd12+4]"), ElementLaunches()).in_bounds);
  EXPECT_FALSE(Prove(Replace(kElements, "[%rd11]", "[%rd11-4]"), ElementLaunches()).in_bounds);
}

TEST(Sizes, TwiceTheBlockIsWrittenTwiceOrNotAtAll) {
  // i = ctaid + tid: in bounds, but not each element once.
  const SizesProof proof =
      Prove(Replace(kElements, "mad.lo.s32 %r13, %r10, %r11, %r12", "add.s32 %r13, %r10, %r12"),
            ElementLaunches());
  EXPECT_TRUE(proof.in_bounds) << proof.why_not;
  EXPECT_THAT(proof.covered, IsEmpty());
}

TEST(Sizes, AGridThatIsTooSmallIsNotProvedToCover) {
  std::vector<Launch> launches = ElementLaunches();
  for (Launch& each : launches) {
    each.grid.x = static_cast<uint32_t>(each.numbers[0]) / 256 + 1;  // wrong only at 256 k
    if (each.numbers[0] > 1000) each.grid.x -= 1;
  }
  launches[2].grid.x = 1;
  // Right at all of these sizes but 4096 - 1: the rule n / 256 + 1 is none that is known.
  launches.push_back({.buffers = {4 * 4095, 4 * 4095},
                      .numbers = {4095},
                      .grid = {15, 1, 1},
                      .block = {256, 1, 1}});
  EXPECT_THAT(Prove(kElements, launches).covered, IsEmpty());
}

TEST(Sizes, ABufferThatIsTooShortIsNotProved) {
  // All but the last byte of the result: no length of 4 * n, and none that n explains.
  EXPECT_FALSE(Prove(kElements, ElementLaunches(0, 1)).in_bounds);
}

TEST(Sizes, OneSizeAloneProvesNothing) {
  const SizesProof proof = Prove(kElements, {ElementLaunches()[3]});
  EXPECT_FALSE(proof.in_bounds);
  EXPECT_THAT(proof.why_not, HasSubstr("one size"));
}

// The offset in bytes by 32 bits: 4 * (n - 1) fits while n <= 2^29.
TEST(Sizes, AnOffsetOf32BitsHoldsUpToItsCount) {
  const SizesProof proof = Prove(Replace(kElements, "mul.wide.s32 %rd10, %r13, 4;",
                                         "shl.b32 %r14, %r13, 2;\ncvt.s64.s32 %rd10, %r14;"),
                                 ElementLaunches());
  EXPECT_TRUE(proof.in_bounds) << proof.why_not;
  EXPECT_EQ(proof.most, int64_t{1} << 29);
}

TEST(Sizes, AnIndexFromDataIsNotProved) {
  const SizesProof proof =
      Prove(Replace(kElements, "ld.global.f32 %f1, [%rd11];",
                    "ld.global.u32 %r20, [%rd11];\nmul.wide.s32 %rd10, %r20, 4;"),
            ElementLaunches());
  EXPECT_FALSE(proof.in_bounds);
  EXPECT_THAT(proof.why_not, HasSubstr("depends on data"));
}

// ---- a loop over the grid: for (i = first; i < n; i += stride), in 64 bits

const char* const kStride = R"(
mov.u32 %r10, %ctaid.x;
mov.u32 %r11, %ntid.x;
mov.u32 %r12, %tid.x;
mul.wide.u32 %rd10, %r10, %r11;
cvt.u64.u32 %rd11, %r12;
add.s64 %rd20, %rd10, %rd11;
mov.u32 %r13, %nctaid.x;
mul.wide.u32 %rd21, %r13, %r11;
cvt.s64.s32 %rd22, %r1;
setp.ge.s64 %p1, %rd20, %rd22;
@%p1 bra END;
LOOP:
shl.b64 %rd23, %rd20, 2;
add.s64 %rd24, %rd1, %rd23;
st.global.f32 [%rd24], 0f00000000;
add.s64 %rd20, %rd20, %rd21;
setp.lt.s64 %p2, %rd20, %rd22;
@%p2 bra LOOP;
END:
ret;
)";

std::vector<Launch> StrideLaunches() {
  std::vector<Launch> launches;
  for (const int32_t n : {1, 7, 300, 5000, 5001}) {
    launches.push_back({.buffers = {4ull * static_cast<uint64_t>(n)},
                        .numbers = {n},
                        .grid = {n > 1000 ? 3u : 1u, 1, 1},
                        .block = {128, 1, 1}});
  }
  return launches;
}

TEST(Sizes, ALoopOverTheGridNeedsNoRuleForTheGrid) {
  const SizesProof proof = Prove(kStride, StrideLaunches());
  EXPECT_TRUE(proof.in_bounds) << proof.why_not;
  EXPECT_EQ(proof.most, kMost);
  EXPECT_THAT(proof.covered, ElementsAre("argument0"));
}

TEST(Sizes, ALoopThatTakesOneTurnTooManyIsNotProved) {
  EXPECT_FALSE(Prove(Replace(kStride, "setp.lt.s64", "setp.le.s64"), StrideLaunches()).in_bounds);
  EXPECT_FALSE(Prove(Replace(kStride, "setp.ge.s64", "setp.gt.s64"), StrideLaunches()).in_bounds);
}

TEST(Sizes, ALoopWithAnotherStepIsNotProvedToCover) {
  // The step is the grid without the blocks: elements are written several times.
  const SizesProof proof =
      Prove(Replace(kStride, "mul.wide.u32 %rd21, %r13, %r11;", "cvt.u64.u32 %rd21, %r11;"),
            StrideLaunches());
  EXPECT_TRUE(proof.in_bounds) << proof.why_not;
  EXPECT_THAT(proof.covered, IsEmpty());
}

// ---- rows and columns: y[row * columns + column], a block a row

const char* const kRows = R"(
mov.u32 %r10, %ctaid.x;
mov.u32 %r20, %tid.x;
mul.lo.s32 %r11, %r10, %r2;
setp.ge.s32 %p1, %r20, %r2;
@%p1 bra END;
LOOP:
add.s32 %r12, %r11, %r20;
mul.wide.s32 %rd10, %r12, 4;
add.s64 %rd11, %rd1, %rd10;
st.global.f32 [%rd11], 0f00000000;
add.s32 %r20, %r20, 64;
setp.lt.s32 %p2, %r20, %r2;
@%p2 bra LOOP;
END:
ret;
)";

std::vector<Launch> RowLaunches() {
  std::vector<Launch> launches;
  for (const auto& [rows, columns] :
       std::vector<std::pair<int32_t, int32_t>>{{3, 5}, {7, 64}, {1, 1}, {20, 130}, {6, 200}}) {
    launches.push_back({.buffers = {4ull * static_cast<uint64_t>(rows * columns)},
                        .numbers = {rows, columns},
                        .grid = {static_cast<uint32_t>(rows), 1, 1},
                        .block = {64, 1, 1}});
  }
  return launches;
}

TEST(Sizes, RowsAreInBoundsAndWrittenOnce) {
  const SizesProof proof = Prove(kRows, RowLaunches());
  EXPECT_TRUE(proof.in_bounds) << proof.why_not;
  // i + 64 needs room above the last element.
  EXPECT_EQ(proof.most, 2'000'000'000);
  EXPECT_THAT(proof.covered, ElementsAre("argument0"));
  EXPECT_EQ(proof.domain, "argument1, argument2 >= 1");
}

TEST(Sizes, RowsWithTheOtherStrideAreNotProved) {
  EXPECT_FALSE(Prove(Replace(kRows, "mul.lo.s32 %r11, %r10, %r2", "mul.lo.s32 %r11, %r10, %r1"),
                     RowLaunches())
                   .in_bounds);
}

TEST(Sizes, RowsWithAStepThatIsNotTheBlockAreNotCovered) {
  for (const char* step : {"%r20, %r20, 63;", "%r20, %r20, 65;"}) {
    const SizesProof proof = Prove(Replace(kRows, "%r20, %r20, 64;", step), RowLaunches());
    EXPECT_THAT(proof.covered, IsEmpty()) << step;
  }
}

TEST(Sizes, RowsThatBeginInTheNextBlockAreNotProved) {
  EXPECT_FALSE(Prove(Replace(kRows, "mul.lo.s32 %r11, %r10, %r2;",
                             "add.s32 %r13, %r10, 1;\nmul.lo.s32 %r11, %r13, %r2;"),
                     RowLaunches())
                   .in_bounds);
}

// ---- broadcast: y[i] = b[i % columns]

const char* const kBroadcast = R"(
mov.u32 %r10, %ctaid.x;
mov.u32 %r12, %tid.x;
mad.lo.s32 %r13, %r10, 32, %r12;
mul.lo.s32 %r14, %r1, %r2;
setp.ge.s32 %p1, %r13, %r14;
@%p1 bra END;
rem.s32 %r15, %r13, %r2;
mul.wide.s32 %rd10, %r15, 4;
add.s64 %rd11, %rd1, %rd10;
ld.global.f32 %f1, [%rd11];
mul.wide.s32 %rd12, %r13, 4;
add.s64 %rd13, %rd2, %rd12;
st.global.f32 [%rd13], %f1;
END:
ret;
)";

std::vector<Launch> BroadcastLaunches(bool by_row) {
  std::vector<Launch> launches;
  for (const auto& [rows, columns] :
       std::vector<std::pair<int32_t, int32_t>>{{3, 5}, {7, 64}, {1, 2}, {20, 130}, {6, 200}}) {
    const auto all = static_cast<uint32_t>(rows * columns);
    launches.push_back(
        {.buffers = {4ull * static_cast<uint64_t>(by_row ? rows : columns), 4ull * all},
         .numbers = {rows, columns},
         .grid = {(all + 31) / 32, 1, 1},
         .block = {32, 1, 1}});
  }
  return launches;
}

TEST(Sizes, RestsAreBelowTheirDivisor) {
  const SizesProof proof = Prove(kBroadcast, BroadcastLaunches(false));
  EXPECT_TRUE(proof.in_bounds) << proof.why_not;
  EXPECT_THAT(proof.covered, ElementsAre("argument1"));
}

TEST(Sizes, QuotientsAreBelowTheNumberOfRows) {
  const std::string by_row = Replace(kBroadcast, "rem.s32", "div.s32");
  EXPECT_TRUE(Prove(by_row, BroadcastLaunches(true)).in_bounds);
  // Each in the place of the other.
  EXPECT_FALSE(Prove(by_row, BroadcastLaunches(false)).in_bounds);
  EXPECT_FALSE(Prove(kBroadcast, BroadcastLaunches(true)).in_bounds);
}

// ---- four elements a turn and the rest one by one, as nvcc unrolls loops

TEST(Sizes, AnUnrolledLoopIsInBounds) {
  const char* const kUnrolled = R"(
mov.u32 %r20, %tid.x;
setp.ge.s32 %p1, %r20, %r1;
@%p1 bra END;
not.b32 %r10, %r20;
add.s32 %r11, %r10, %r1;
shr.u32 %r12, %r11, 5;
add.s32 %r13, %r12, 1;
and.b32 %r14, %r13, 3;
setp.eq.s32 %p2, %r14, 0;
@%p2 bra MAIN;
REST:
mul.wide.s32 %rd10, %r20, 4;
add.s64 %rd11, %rd1, %rd10;
st.global.f32 [%rd11], 0f00000000;
add.s32 %r20, %r20, 32;
add.s32 %r14, %r14, -1;
setp.ne.s32 %p3, %r14, 0;
@%p3 bra REST;
MAIN:
setp.lt.u32 %p4, %r11, 96;
@%p4 bra END;
LOOP:
mul.wide.s32 %rd12, %r20, 4;
add.s64 %rd13, %rd1, %rd12;
st.global.f32 [%rd13], 0f00000000;
st.global.f32 [%rd13+384], 0f00000000;
add.s32 %r20, %r20, 128;
setp.lt.s32 %p5, %r20, %r1;
@%p5 bra LOOP;
END:
ret;
)";
  std::vector<Launch> launches;
  for (const int32_t n : {1, 100, 129, 1000}) {
    launches.push_back({.buffers = {4ull * static_cast<uint64_t>(n)},
                        .numbers = {n},
                        .grid = {1, 1, 1},
                        .block = {32, 1, 1}});
  }
  const SizesProof proof = Prove(kUnrolled, launches);
  EXPECT_TRUE(proof.in_bounds) << proof.why_not;
  // The second store one element further; one rest too few or too many; the other limit.
  for (const auto& [from, to] : std::vector<std::pair<const char*, const char*>>{
           {"[%rd13+384]", "[%rd13+388]"},
           {"and.b32 %r14, %r13, 3", "and.b32 %r14, %r12, 3"},
           {"shr.u32 %r12, %r11, 5", "shr.u32 %r12, %r11, 4"},
           {"%r11, 96", "%r11, 95"},
           {"setp.lt.s32 %p5", "setp.le.s32 %p5"}}) {
    EXPECT_FALSE(Prove(Replace(kUnrolled, from, to), launches).in_bounds) << to;
  }
}

// ---- the parts

TEST(Sizes, ProverFindsProductsAndNothingFalse) {
  SymbolTable symbols;
  Prover prover(symbols);
  const auto make = [&](const char* name) { return Polynomial::Of(symbols.Make(name, true)); };
  const Polynomial row = make("row");
  const Polynomial column = make("column");
  const Polynomial rows = make("rows");
  const Polynomial columns = make("columns");
  const Polynomial one(1);
  const std::vector<Polynomial> facts = {rows - one - row, columns - one - column};
  const Polynomial index = row * columns + column;
  EXPECT_TRUE(prover.NonNegative(facts, rows * columns - one - index));
  EXPECT_FALSE(prover.NonNegative(facts, rows * columns - one - one - index));
  EXPECT_FALSE(prover.NonNegative(facts, rows * columns - one - row * rows - column));
  EXPECT_FALSE(prover.NonNegative({rows - one - row}, rows * columns - one - index));
}

TEST(Sizes, NamesOfParametersComeFromTheSource) {
  const auto names = ParameterNames(
      "template <typename T>\n__global__ void __launch_bounds__(256, 2)\n"
      "    Add(const T* __restrict__ x, T *y, std::array<int, 3> sizes, int64_t n) { f(x); }\n");
  ASSERT_EQ(names.count("Add"), 1u);
  EXPECT_THAT(names.at("Add"), ElementsAre("x", "y", "sizes", "n"));
  EXPECT_EQ(PlainName("ops::Add<float>"), "Add");
}

}  // namespace
}  // namespace kernelsmith::sizes
