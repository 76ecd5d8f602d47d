#include "report/bench_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html.h"

namespace kernelsmith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BenchResult Verified(std::string name, std::vector<BenchShape> shapes) {
  return {.task = "softmax",
          .candidate = std::move(name),
          .direction = "forward",
          .dtype = "float32",
          .verdict = "verified",
          .shapes = std::move(shapes),
          .gpu = "h100"};
}

BenchShape Shape(std::string name, double candidate, double eager) {
  return {.configuration = std::move(name),
          .candidate = candidate,
          .eager = eager,
          .floor = 1e-6,
          .speedup = eager / candidate,
          .limit = "DRAM"};
}

// Rows 1 to 60 of docs/loopholes.md: whatever was refuted has no speed, however fast it is.
TEST(Bench, WrongKernelsHaveNoSpeed) {
  BenchResult wrong = Verified("wrong.cu", {Shape("a", 1e-9, 1e-3)});
  wrong.verdict = "refuted";
  EXPECT_FALSE(wrong.Speedup());
  const BenchSummary summary = SummariseBench({wrong, Verified("right.cu", {Shape("a", 1, 2)})});
  EXPECT_EQ(summary.verified, 1);
  EXPECT_NEAR(*summary.speedup, 2, 1e-12);
  EXPECT_FALSE(SummariseBench({wrong}).speedup);
  EXPECT_THAT(BenchText({wrong}, false), HasSubstr("no speed"));
}

// Row 29: one tiny shape does not carry the mean, and every shape is shown.
TEST(Bench, OneTinyShapeDoesNotCollapseTheMean) {
  const BenchResult result = Verified(
      "k.cu",
      {Shape("tiny", 1e-6, 50e-6), Shape("large", 1e-3, 0.5e-3), Shape("larger", 2e-3, 1e-3)});
  // The mean of the speeds would be 17; of the times 0.52.
  EXPECT_NEAR(*result.Speedup(), std::cbrt(50 * 0.5 * 0.5), 1e-9);
  const std::string text = BenchText({result}, false);
  EXPECT_THAT(text, HasSubstr("tiny"));
  EXPECT_THAT(text, HasSubstr("50.00x"));
  EXPECT_THAT(text, HasSubstr("0.50x"));
}

// Row 29: nor does one that is left out.
TEST(Bench, AShapeWithoutATimeLeavesNoMean) {
  const BenchResult result = Verified(
      "k.cu", {Shape("a", 1e-6, 5e-6), {.configuration = "b", .problem = "out of memory"}});
  EXPECT_FALSE(result.Speedup());
  EXPECT_THAT(BenchText({result}, false), HasSubstr("no time: out of memory"));
}

TEST(Bench, TheFastestOfEachPass) {
  BenchResult other = Verified("c.cu", {Shape("a", 1, 8)});
  other.direction = "backward";
  const BenchSummary summary = SummariseBench(
      {Verified("a.cu", {Shape("a", 1, 1)}), Verified("b.cu", {Shape("a", 1, 2)}), other});
  EXPECT_NEAR(*summary.best_speedup, 4, 1e-12);
  EXPECT_EQ(summary.groups, 2);
  EXPECT_NEAR(*summary.speedup, std::cbrt(16.0), 1e-12);
}

TEST(Bench, ResultsSurviveAFile) {
  BenchResult result =
      Verified("k.cu", {Shape("a", 3e-6, 5e-6), {.configuration = "b", .problem = "why"}});
  result.remarks = {"unstable"};
  const auto again = ParseBenchResult(ToJson(result));
  ASSERT_TRUE(again);
  EXPECT_EQ(ToJson(*again), ToJson(result));
  // A word of an older report.
  nlohmann::json older = ToJson(result);
  older["remarks"] = nlohmann::json::array({"not_deterministic"});
  EXPECT_EQ(ParseBenchResult(older)->remarks, std::vector<std::string>{"nondeterministic"});
  EXPECT_FALSE(ParseBenchResult({{"verdict", "verified"}}));
  EXPECT_FALSE(ParseBenchResult(nlohmann::json::array()));
}

// Names and messages come from candidates and tools.
TEST(Bench, FormsAreSafe) {
  BenchResult result = Verified("<script>alert(1)</script>", {});
  result.verdict = "refuted";
  result.reason = "wrong_value: \"a\", b\n\033[2J";
  const std::string html = BenchHtml({result});
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(BenchText({result}, false), Not(HasSubstr("\033")));
  const std::string csv = BenchCsv({result});
  EXPECT_THAT(csv, HasSubstr("\"wrong_value: \"\"a\"\", b\n"));
  EXPECT_THAT(csv, HasSubstr(",,,,,,,,\n"));
}

TEST(Bench, PagesAreOneFile) {
  const std::string html = BenchHtml({Verified("k.cu", {Shape("a", 1e-6, 5e-6)})});
  for (const char* part : {"http:", "https:", "src=", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(part)));
  }
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, HasSubstr("estimated for h100"));
}

}  // namespace
}  // namespace kernelsmith
