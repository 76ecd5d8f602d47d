#include "mutate/report.h"

#include <gtest/gtest.h>

#include "mutate/campaign.h"
#include "mutate/corpus.h"

namespace kernelsmith::mutate {
namespace {

Judged Make(const std::string& kernel, const std::string& mutant, const std::string& outcome) {
  Judged judged;
  judged.kernel = kernel;
  judged.mutant = mutant;
  judged.operator_name = mutant.substr(0, mutant.find('-'));
  judged.outcome = outcome;
  return judged;
}

TEST(Report, CountsWhatIsTrueAgainstWhatWasSaid) {
  std::vector<Judged> all = {
      Make("softmax/a", "", "verified"),       Make("gelu/b", "", "refuted"),
      Make("softmax/a", "x-1-1", "refuted"),   Make("softmax/a", "x-2-1", "refuted"),
      Make("softmax/a", "x-3-1", "verified"),  Make("softmax/a", "y-4-1", "inconclusive"),
      Make("softmax/a", "y-5-1", "identical"), Make("gelu/b", "y-6-1", "uncompilable"),
      Make("gelu/b", "y-7-1", "verified"),
  };
  all[2].outside["other"] = "no";
  all[3].outside["other"] = "yes";
  all[0].outside["other"] = "yes";
  const Summary summary = Summarise(all, {{"gelu/b y-7-1", "adds zero"}});
  EXPECT_EQ(summary.kernels, 2U);
  EXPECT_EQ(summary.tasks, 2U);
  EXPECT_EQ(summary.made, 7U);
  EXPECT_EQ(summary.identical, 1U);
  EXPECT_EQ(summary.uncompilable, 1U);
  EXPECT_EQ(summary.equivalent, 1U);
  EXPECT_EQ(summary.verifier.wrong_refuted, 2U);
  EXPECT_EQ(summary.verifier.wrong_passed, 1U);
  EXPECT_EQ(summary.verifier.wrong_other, 1U);
  EXPECT_EQ(summary.verifier.right_refuted, 1U);
  EXPECT_EQ(summary.verifier.right_passed, 1U);
  EXPECT_DOUBLE_EQ(summary.verifier.Recall().value(), 0.5);
  EXPECT_DOUBLE_EQ(summary.verifier.Precision().value(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(summary.outside.at("other").Recall().value(), 0.5);
  EXPECT_EQ(summary.outside.at("other").right_passed, 1U);
  ASSERT_EQ(summary.passed.size(), 2U);
  const std::string text = ToText(summary);
  EXPECT_NE(text.find("MISSED"), std::string::npos);
  EXPECT_NE(text.find("right: adds zero"), std::string::npos);
}

TEST(Report, RefutingARightMutantIsAMistake) {
  const Summary summary =
      Summarise({Make("a/b", "x-1-1", "refuted")}, {{"a/b x-1-1", "the same by algebra"}});
  EXPECT_EQ(summary.verifier.right_refuted, 1U);
  EXPECT_EQ(summary.verifier.wrong_refuted, 0U);
}

TEST(Report, StagesCountThoseThatReachedThem) {
  Judged early = Make("a/b", "x-1-1", "refuted"), late = Make("a/b", "x-2-1", "refuted");
  early.stages = {{"numbers", "refuted"}, {"algebra", "skipped"}};
  late.stages = {{"numbers", "passed"}, {"algebra", "refuted"}};
  const Summary summary = Summarise({early, late}, {});
  ASSERT_EQ(summary.stages.size(), 2U);
  EXPECT_EQ(summary.stages[0].name, "numbers");
  EXPECT_DOUBLE_EQ(summary.stages[0].matrix.Recall().value(), 0.5);
  EXPECT_DOUBLE_EQ(summary.stages[1].matrix.Recall().value(), 1);
}

TEST(Report, TellsSharesThroughputAndWhatTheAlgebraProves) {
  std::vector<Judged> all = {Make("a/b", "", "verified"),     Make("a/c", "", "verified"),
                             Make("a/b", "x-1-1", "refuted"), Make("a/b", "x-2-1", "refuted"),
                             Make("a/b", "x-3-1", "refuted"), Make("a/b", "x-4-1", "verified")};
  all[0].algebra = "equal";
  all[1].algebra = "inconclusive";
  all[5].algebra = "equal";  // This is a mutant's, so it does not count.
  all[2].stages = {{"checkers", "refuted"}};
  all[3].stages = {{"checkers", "passed"}, {"numbers", "refuted"}};
  all[4].stages = {{"checkers", "passed"}, {"numbers", "refuted"}};
  for (Judged& each : all) each.seconds = 2;
  all[0].processor_seconds = 5;
  all[1].processor_seconds = 6;
  all[5].processor_seconds = 7;
  const Summary summary = Summarise(all, {});
  EXPECT_EQ(summary.algebra_equal, 1U);
  EXPECT_EQ(summary.algebra_asked, 2U);
  EXPECT_DOUBLE_EQ(summary.processor_verified, 6);
  const std::string text = ToText(summary);
  EXPECT_NE(text.find("Refuted by: checkers 33.3 % numbers 66.7 %"), std::string::npos) << text;
  EXPECT_NE(text.find("1800 verdicts an hour"), std::string::npos) << text;
  EXPECT_NE(text.find("proves 1 of 2 right kernels equal"), std::string::npos) << text;
  EXPECT_DOUBLE_EQ(ToJson(summary)["stages"][1]["share"], 2.0 / 3);
}

TEST(Report, LinesOfTheResultsFileComeBack) {
  Judged judged = Make("a/b", "x-1-1", "refuted");
  judged.diff = "-1: a\n+1: b\n";
  judged.stages = {{"numbers", "refuted"}};
  judged.outside = {{"llm", "yes"}};
  judged.seconds = 1.5;
  judged.processor_seconds = 0.5;
  judged.algebra = "equal";
  const std::string line = ToJson(judged).dump();
  EXPECT_EQ(ToJson(ParseJudged(line).value()).dump(), line);
  EXPECT_FALSE(ParseJudged("{\"kernel\": 1}").ok());
  EXPECT_FALSE(ParseJudged("{\"kernel\"").ok());
}

TEST(Campaign, ReadsVerdicts) {
  Judged judged = Make("a/b", "x-1-1", "");
  ReadVerdict(R"({"verdict": "refuted", "findings": [{"kind": "unstable", "weight": "warning"},
    {"kind": "data_race", "message": "two writes", "stage": "checkers"}],
    "stages": [{"name": "compile", "outcome": "passed"}, {"name": "checkers", "outcome": "refuted"}],
    "proof": {"algebra": {"outcome": "equal"}}, "processor_seconds": 1.5})",
              judged);
  EXPECT_EQ(judged.outcome, "refuted");
  EXPECT_EQ(judged.stage, "checkers");
  EXPECT_EQ(judged.reason, "data_race: two writes");
  EXPECT_EQ(judged.stages.size(), 2U);
  EXPECT_EQ(judged.algebra, "equal");
  EXPECT_DOUBLE_EQ(judged.processor_seconds, 1.5);

  ReadVerdict(R"({"verdict": "refuted", "findings": [{"kind": "compile_error", "message": ";"}]})",
              judged);
  EXPECT_EQ(judged.outcome, "uncompilable");
  // A word of an older report, in the one that stands for it now.
  ReadVerdict(
      R"({"verdict": "refuted", "findings": [{"kind": "uninitialised_read", "message": "x"}]})",
      judged);
  EXPECT_EQ(judged.reason, "uninitialized_read: x");
  ReadVerdict("Segmentation fault", judged);
  EXPECT_EQ(judged.outcome, "error");
}

TEST(Corpus, HeaderSaysDirectionAndDtypes) {
  const CorpusKernel kernel =
      ParseHeader("// Backward, float16, bfloat16: sums\n#include", "a.cu").value();
  EXPECT_TRUE(kernel.backward);
  EXPECT_EQ(kernel.dtypes, (std::vector<std::string>{"float16", "bfloat16"}));
  EXPECT_EQ(kernel.summary, "sums");
  EXPECT_EQ(ParseHeader("// Forward: sums", "a.cu").value().dtypes,
            std::vector<std::string>{"float32"});
  EXPECT_FALSE(ParseHeader("#include <torch/extension.h>", "a.cu").ok());
}

}  // namespace
}  // namespace kernelsmith::mutate
