// Every candidate of tests/candidates compiles, traces and replays with the bytes that its own,
// direct run gives; every hostile one of tests/candidates/hostile does no harm and gets the finding
// that its FINDING line names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compile/device_names.h"
#include "device/candidate_harness.h"
#include "device/observable_device.h"
#include "plan/plan_text.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Sources(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

const fs::path kCandidates = fs::path(KS_SOURCE_DIR) / "tests" / "candidates";

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, ReplayEqualsDirectRun) {
  CandidateHarness harness;
  const auto candidate = harness.Compile(kCandidates / (GetParam() + ".cu"));
  ASSERT_TRUE(candidate.ok()) << candidate.error().Format();
  const auto parsed = ParseCase(candidate->text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().Format();
  const auto traced = Trace(*candidate, parsed->arguments,
                            {.tracer = KS_TRACER_PROGRAM,
                             .timeout = std::chrono::seconds(120),
                             .results = parsed->results,
                             .direct = true},
                            harness.processes());
  ASSERT_TRUE(traced.ok()) << traced.error().Format();
  for (const HostFinding& finding : traced->findings) {
    ADD_FAILURE() << Name(finding.kind) << ": " << finding.message;
  }
  ASSERT_TRUE(traced->plan.has_value()) << traced->printed;

  const std::string text = FormatPlan(*traced->plan);
  const auto again = ParsePlan(text, "plan");
  ASSERT_TRUE(again.ok()) << again.error().Format() << text;
  EXPECT_EQ(*again, *traced->plan) << text;

  auto device = MakeVirtualDevice();
  ASSERT_TRUE(device.ok());
  const auto outcome = (*device)->Run(
      {.plan = &*traced->plan, .ptx = candidate->ptx, .inputs = FlattenTensors(parsed->arguments)});
  ASSERT_TRUE(outcome.ok()) << outcome.error().Format() << text;
  ASSERT_FALSE(outcome->failure.has_value()) << outcome->failure->message << text;
  ASSERT_EQ(outcome->outputs.size(), traced->direct.size());
  for (size_t i = 0; i < outcome->outputs.size(); ++i) {
    EXPECT_EQ(outcome->outputs[i].bytes, traced->direct[i]) << "output " << i << "\n" << text;
    EXPECT_EQ(std::count(outcome->unwritten[i].begin(), outcome->unwritten[i].end(), true), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Candidates, Corpus, testing::ValuesIn(Sources(kCandidates)),
                         [](const auto& info) { return info.param; });

// The plan with nvcc's and clang's names alike and without return addresses.
std::string Comparable(Plan plan) {
  for (auto* steps : {&plan.preparation, &plan.steps}) {
    for (PlanStep& step : *steps) {
      step.site = 0;
      if (auto* launch = std::get_if<LaunchStep>(&step.action)) {
        launch->kernel = CanonicalName(launch->kernel);
      }
    }
  }
  for (PlanBuffer& buffer : plan.buffers) buffer.name = CanonicalName(buffer.name);
  return FormatPlan(plan);
}

// Host code by clang and host code by nvcc give the same plan. A sample: kernels and variables with
// internal linkage, a lambda as an argument, and one that clang refuses.
TEST(BothCompilers, SamePlan) {
  for (const char* name : {"softmax_rows", "constant_memory", "lambda_kernel", "llm_async_copy"}) {
    CandidateHarness harness;
    std::string plans[2];
    for (const bool nvcc_only : {false, true}) {
      const auto candidate = harness.Compile(kCandidates / (std::string(name) + ".cu"), nvcc_only);
      ASSERT_TRUE(candidate.ok()) << candidate.error().Format();
      EXPECT_EQ(candidate->host_by_clang, !nvcc_only && std::string_view(name) != "llm_async_copy")
          << name;
      const auto parsed = ParseCase(candidate->text);
      ASSERT_TRUE(parsed.ok());
      const auto traced =
          Trace(*candidate, parsed->arguments,
                {.tracer = KS_TRACER_PROGRAM, .results = parsed->results}, harness.processes());
      ASSERT_TRUE(traced.ok() && traced->plan.has_value()) << name;
      plans[nvcc_only ? 1 : 0] = Comparable(*traced->plan);
    }
    EXPECT_EQ(plans[0], plans[1]) << name;
  }
}

class Hostile : public testing::TestWithParam<std::string> {};

TEST_P(Hostile, DoesNoHarm) {
  CandidateHarness harness;
  const auto candidate = harness.Compile(kCandidates / "hostile" / (GetParam() + ".cu"));
  ASSERT_TRUE(candidate.ok()) << candidate.error().Format();
  const auto parsed = ParseCase(candidate->text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().Format();
  const auto traced = Trace(*candidate, parsed->arguments,
                            {.tracer = KS_TRACER_PROGRAM,
                             .timeout = std::chrono::seconds(10),
                             .memory_bytes = uint64_t{1} << 28,
                             .max_reply = size_t{64} << 20},
                            harness.processes());
  ASSERT_TRUE(traced.ok()) << traced.error().Format();
  const std::string wanted = Directive(candidate->text, "FINDING");
  bool found = false;
  std::string all;
  for (const HostFinding& finding : traced->findings) {
    all +=
        fmt::format("{}: {} (line {})\n", Name(finding.kind), finding.message, finding.where.line);
    found |= wanted == Name(finding.kind);
  }
  // "none": the trick has no effect, and a plan comes out.
  if (wanted == "none") {
    EXPECT_TRUE(traced->plan.has_value()) << all;
  } else {
    EXPECT_TRUE(found) << "wanted " << wanted << ", got\n" << all << traced->printed;
  }
  EXPECT_FALSE(fs::exists("/tmp/kernelsmith-was-here"));
}

INSTANTIATE_TEST_SUITE_P(Candidates, Hostile, testing::ValuesIn(Sources(kCandidates / "hostile")),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kernelsmith
