#include "plan/merge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/rng.h"

namespace kernelsmith {
namespace {

std::string HexWord(uint64_t word) {
  std::string text;
  for (int i = 0; i < 8; ++i) {
    static constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned>(word >> (8 * i) & 255);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// A trace as a child at `base` writes it: an input, an output, one launch.
std::string Text(uint64_t base, uint64_t number = 5, const std::string& kernel = "k",
                 const std::string& before_launch = "") {
  const std::string a = std::to_string(base);
  const std::string b = std::to_string(base + 0x10000);
  return R"({"s":"buffer","i":0,"a":)" + a +
         R"(,"n":64,"kind":"input","name":"x","set":0,"arg":0})"
         "\n"
         R"({"s":"call","n":1,"set":0})"
         "\n"
         R"({"s":"call","n":2,"set":0})"
         "\n"
         R"({"s":"buffer","i":1,"a":)" +
         b +
         R"(,"n":64,"kind":"workspace"})"
         "\n" +
         before_launch + R"({"s":"launch","k":")" + kernel +
         R"(","g":[1,1,1],"b":[32,1,1],"c":[1,1,1],"m":0,)"
         R"("coop":false,"pdl":false,"p":")" +
         HexWord(base + 16) + HexWord(base + 0x10040) + HexWord(number) +
         R"(","st":0,"apart":false,"at":99})"
         "\n"
         R"({"s":"result","tensors":[{"d":"float32","n":[16],"t":[1],"at":[1,0]}]})"
         "\n"
         R"({"s":"done"})"
         "\n";
}

RawTrace Parse(const std::string& text) {
  auto trace = ParseRawTrace(text, {});
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message());
  return trace.ok() ? *trace : RawTrace{};
}

// Parameters of "k" as Text() gives them: two pointers and a struct of eight bytes, of which
// `loads` says what it reads.
ParameterUse Kernel(const std::string& loads = "ld.param.u64 %rd1, [k_2];") {
  return ParameterUse(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u64 k_1, .param .align 8 .b8 k_2[8])
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  .reg .b16 %rs<4>;
  ld.param.u64 %rd2, [k_0];
  ld.param.u64 %rd3, [k_1];
  )" + loads + R"(
  ret;
})");
}

struct Merged {
  Plan plan;  // of the last call
  std::optional<MergeProblem> problem;
};

Merged Merge(const RawTrace& first, const RawTrace& second,
             const std::string& loads = "ld.param.u64 %rd1, [k_2];",
             const MergeOptions& options = {}) {
  const MergedCalls calls = MergeTraces(first, second, Kernel(loads), options);
  if (calls.problem) return {{}, calls.problem};
  return {PlanOfCall(calls, calls.calls.size() - 1).plan, std::nullopt};
}

TEST(Merge, PointersAreWhatDiffers) {
  const Merged merged = Merge(Parse(Text(0x7000'0000)), Parse(Text(0x7123'4000)));
  ASSERT_FALSE(merged.problem.has_value()) << merged.problem->message;
  const auto& launch = std::get<LaunchStep>(merged.plan.steps.at(0).action);
  // One pointer into the input, one past the end of the workspace, and a number that is none.
  const std::vector<PointerPatch> expected{{0, {0, 16}}, {8, {1, 64}}};
  EXPECT_EQ(launch.pointers, expected);
  EXPECT_EQ(launch.parameters[16], std::byte{5});
  EXPECT_TRUE(Validate(merged.plan).ok());
}

TEST(Merge, NumbersThatDifferAreComputedFromData) {
  const auto read = [](const char* bytes) {
    return std::string(R"({"s":"read","from":[0,0],"n":)") + bytes +
           R"(,"st":0,"apart":false,"at":98})"
           "\n";
  };
  const auto merge = [&](const std::string& before) {
    return Merge(Parse(Text(0x7000'0000, 5, "k", before)),
                 Parse(Text(0x7123'4000, 6, "k", before)));
  };
  const Merged merged = merge(read("64"));
  ASSERT_TRUE(merged.problem.has_value());
  EXPECT_EQ(merged.problem->kind, MergeProblem::Kind::kHostComputed);
  EXPECT_EQ(merged.problem->site, 99u);
  // One number that the host passes on is no work of its own.
  const Merged scalar = merge(read("4"));
  ASSERT_TRUE(scalar.problem.has_value());
  EXPECT_EQ(scalar.problem->kind, MergeProblem::Kind::kDataDependent);
}

// What differs is what the stack had in a struct's padding, if the kernel does not read it.
TEST(Merge, PaddingOfStructsIsNoData) {
  const auto trace = [](uint64_t base, uint64_t number) { return Parse(Text(base, number)); };
  const RawTrace first = trace(0x7000'0000, 0xab00'0005);
  const RawTrace second = trace(0x7123'4000, 0xcd00'0005);
  const Merged merged = Merge(first, second, "ld.param.u16 %rs1, [k_2];");
  ASSERT_FALSE(merged.problem.has_value()) << merged.problem->message;
  const auto& launch = std::get<LaunchStep>(merged.plan.steps.at(0).action);
  EXPECT_EQ(launch.pointers.size(), 2u);
  EXPECT_EQ(launch.parameters[16], std::byte{5});
  EXPECT_EQ(launch.parameters[19], std::byte{0});
}

TEST(Merge, AByteThatTheKernelReadsMustBeTheSame) {
  const RawTrace first = Parse(Text(0x7000'0000, 0xab00'0005));
  const RawTrace second = Parse(Text(0x7123'4000, 0xcd00'0005));
  for (const char* loads : {"ld.param.u8 %rs1, [k_2+3];", "ld.param.u32 %r1, [k_2];",
                            "ld.param.v2.u32 {%r1, %r2}, [k_2];", "mov.u64 %rd1, k_2;"}) {
    const Merged merged = Merge(first, second, loads);
    ASSERT_TRUE(merged.problem.has_value()) << loads;
    EXPECT_EQ(merged.problem->kind, MergeProblem::Kind::kNotReproducible);
    EXPECT_EQ(merged.problem->site, 99u);
    EXPECT_NE(merged.problem->message.find("kernel k (byte 19 of its arguments)"),
              std::string::npos)
        << merged.problem->message;
    // Without the wall it would pass for padding.
    EXPECT_FALSE(Merge(first, second, loads, {.all_is_padding = true}).problem.has_value());
  }
}

// Padding stays padding after the host has looked at data.
TEST(Merge, PaddingIsNoDataEither) {
  const std::string read = R"({"s":"read","from":[0,0],"n":64,"st":0,"apart":false,"at":98})"
                           "\n";
  const RawTrace first = Parse(Text(0x7000'0000, 0xab00'0005, "k", read));
  const RawTrace second = Parse(Text(0x7123'4000, 0xcd00'0005, "k", read));
  EXPECT_FALSE(Merge(first, second, "ld.param.u16 %rs1, [k_2];").problem.has_value());
  const Merged merged = Merge(first, second, "ld.param.u32 %r1, [k_2];");
  ASSERT_TRUE(merged.problem.has_value());
  EXPECT_EQ(merged.problem->kind, MergeProblem::Kind::kHostComputed);
}

// Another kernel, with and without a look at data before it.
TEST(Merge, AnotherKernelHasAReason) {
  const std::string read = R"({"s":"read","from":[0,0],"n":4,"st":0,"apart":false,"at":98})"
                           "\n";
  Merged merged =
      Merge(Parse(Text(0x7000'0000, 5, "k", read)), Parse(Text(0x7123'4000, 5, "other", read)));
  ASSERT_TRUE(merged.problem.has_value());
  EXPECT_EQ(merged.problem->kind, MergeProblem::Kind::kDataDependent);
  merged = Merge(Parse(Text(0x7000'0000, 5, "k")), Parse(Text(0x7123'4000, 5, "other")));
  ASSERT_TRUE(merged.problem.has_value());
  EXPECT_EQ(merged.problem->kind, MergeProblem::Kind::kNotReproducible);
}

TEST(Merge, PreparationGoesWhenNothingOfItIsUsed) {
  const Merged merged = Merge(Parse(Text(0x7000'0000)), Parse(Text(0x7123'4000)));
  EXPECT_TRUE(merged.plan.preparation.empty());
}

// A workspace of the first call alone: neither its launch nor the buffer itself is in the plan, and
// what the plan names keeps its meaning under the new numbers.
TEST(Merge, BuffersOfADroppedPreparationGoToo) {
  const auto trace = [](uint64_t base) {
    std::string text = Text(base);
    const std::string phase = R"({"s":"call","n":1,"set":0})"
                              "\n";
    const size_t at = text.find(phase) + phase.size();
    const std::string rest = text.substr(at);
    text = text.substr(0, at) + R"({"s":"buffer","i":1,"a":)" + std::to_string(base + 0x40000) +
           R"(,"n":128,"kind":"workspace"})"
           "\n" +
           rest;
    const size_t own = text.rfind(R"("i":1)");
    text.replace(own, 5, R"("i":2)");
    const size_t result = text.find(R"("at":[1,0])");
    text.replace(result, 10, R"("at":[2,0])");
    return Parse(text);
  };
  const Merged merged = Merge(trace(0x7000'0000), trace(0x7123'4000));
  ASSERT_FALSE(merged.problem.has_value()) << merged.problem->message;
  EXPECT_TRUE(merged.plan.preparation.empty());
  EXPECT_EQ(merged.plan, Merge(Parse(Text(0x7000'0000)), Parse(Text(0x7123'4000))).plan);
  EXPECT_TRUE(Validate(merged.plan).ok());
}

// A call that uses the argument of another call finds it as it was given then.
TEST(Merge, InputsOfOtherCallsAreMemoryThatIsFilled) {
  const auto trace = [](uint64_t base) {
    const std::string a = std::to_string(base);
    const std::string b = std::to_string(base + 0x10000);
    const auto call = [&](int number, int set, uint64_t pointer) {
      return fmt::format(
          R"({{"s":"call","n":{},"set":{}}})"
          "\n"
          R"({{"s":"launch","k":"k","g":[1,1,1],"b":[32,1,1],"c":[1,1,1],"m":0,"coop":false,"pdl":false,"p":"{}","st":{},"apart":false,"at":9}})"
          "\n"
          R"({{"s":"result","tensors":[{{"d":"float32","n":[16],"t":[1],"at":[{},0]}}]}})"
          "\n",
          number, set, HexWord(pointer) + HexWord(pointer) + HexWord(5), number, set);
    };
    return Parse(R"({"s":"buffer","i":0,"a":)" + a +
                 R"(,"n":64,"kind":"input","name":"x","set":0,"arg":0})"
                 "\n"
                 R"({"s":"buffer","i":1,"a":)" +
                 b +
                 R"(,"n":64,"kind":"input","name":"x","set":1,"arg":0})"
                 "\n" +
                 call(1, 0, base) + call(2, 1, base) + R"({"s":"done"})" + "\n");
  };
  const MergedCalls merged = MergeTraces(trace(0x7000'0000), trace(0x7123'4000), Kernel());
  ASSERT_FALSE(merged.problem.has_value());
  const CallPlan first = PlanOfCall(merged, 0);
  EXPECT_TRUE(first.plan.preparation.empty());
  const CallPlan second = PlanOfCall(merged, 1, [](const ForeignInput& input) {
    EXPECT_EQ(input.set, 0u);
    return std::vector<std::byte>(64, std::byte{3});
  });
  ASSERT_EQ(second.foreign.size(), 1u);
  ASSERT_EQ(second.plan.preparation.size(), 2u);
  EXPECT_EQ(std::get<UploadStep>(second.plan.preparation[0].action).data.size(), 64u);
  EXPECT_EQ(second.plan.buffers[0].kind, PlanBuffer::Kind::kWorkspace);
  EXPECT_EQ(second.plan.buffers[1].kind, PlanBuffer::Kind::kInput);
  // Streams are numbered anew in each plan.
  EXPECT_EQ(first.plan.steps[0].stream, 1u);
  EXPECT_EQ(second.plan.steps[0].stream, 2u);
}

TEST(RawTrace, RefusesWhatNoTracerWrites) {
  const std::string good = Text(0x7000'0000);
  for (const std::string& bad :
       {std::string("nonsense\n"), std::string("[]\n"), std::string("{}\n"), good + good,
        std::string("{\"s\":\"done\"}\n"), good.substr(0, good.size() - 5),
        std::string("{\"s\":\"buffer\",\"i\":7,\"a\":0,\"n\":1,\"kind\":\"input\"}\n"),
        std::string("{\"s\":\"fill\",\"to\":[-1,0],\"v\":0}\n"),
        std::string("{\"s\":\"dance\"}\n")}) {
    EXPECT_FALSE(ParseRawTrace(bad, {}).ok()) << bad;
  }
  EXPECT_FALSE(ParseRawTrace(good, {.buffers = 1}).ok());
}

TEST(RawTrace, RandomChangesNeverCrash) {
  const std::string text = Text(0x7000'0000);
  const RawTrace other = Parse(Text(0x7123'4000));
  Rng rng(9);
  int merged_plans = 0;
  for (int round = 0; round < 5'000; ++round) {
    std::string mutated = text;
    for (uint64_t edits = 1 + rng.Below(3); edits > 0; --edits) {
      if (mutated.empty()) break;
      const size_t at = rng.Below(mutated.size());
      if (rng.Below(2) == 0) {
        mutated[at] = static_cast<char>('0' + rng.Below(75));
      } else {
        mutated.erase(at, rng.Below(5));
      }
    }
    const auto trace = ParseRawTrace(mutated, {});
    if (!trace.ok()) continue;
    const Merged merged = Merge(*trace, other);
    if (!merged.problem && Validate(merged.plan).ok()) ++merged_plans;
  }
  EXPECT_LT(merged_plans, 5'000);
}

}  // namespace
}  // namespace kernelsmith
