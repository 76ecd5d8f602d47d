#include "verify/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace kernelsmith {
namespace {

using testing::HasSubstr;

Verdict Refuted() {
  Verdict verdict{.kind = VerdictKind::kRefuted,
                  .task = "softmax",
                  .direction = "forward",
                  .dtype = "float32",
                  .candidate = "k.cu"};
  verdict.findings.push_back(
      {.kind = FindingKind::kWrongValue,
       .message = "output.0 differs from the oracle",
       .where = {"k.cu", 12},
       .counterexample = Counterexample{.configuration = "rows=3",
                                        .seed = 7,
                                        .output = "output.0",
                                        .index = {1, 2},
                                        .expected = 0.25,
                                        .got = std::numeric_limits<double>::infinity(),
                                        .scales = 1e6,
                                        .wrong = 3,
                                        .elements = 9}});
  return verdict;
}

TEST(Verdict, TextNamesPlaceIndexAndValues) {
  const std::string text = ToText(Refuted(), false);
  EXPECT_THAT(text, HasSubstr("refuted  k.cu as softmax (forward, float32)"));
  EXPECT_THAT(text, HasSubstr("k.cu:12: wrong_value: output.0 differs"));
  EXPECT_THAT(text, HasSubstr("output.0[1, 2]: expected 0.25, got inf; 3 of 9 elements are wrong"));
  EXPECT_THAT(text, HasSubstr("with rows=3, task inputs, seed 7"));
}

TEST(Verdict, JsonKeepsNonFiniteValues) {
  const nlohmann::json document = ToJson(Refuted());
  EXPECT_EQ(document["verdict"], "refuted");
  EXPECT_EQ(document["findings"][0]["counterexample"]["got"], "inf");
  EXPECT_EQ(document["findings"][0]["line"], 12);
  EXPECT_TRUE(document["proof"]["numbers"].empty());
}

TEST(Verdict, UnsupportedIsNeverAPass) {
  EXPECT_EQ(ExitCodeOf(VerdictKind::kVerified), 0);
  EXPECT_EQ(ExitCodeOf(VerdictKind::kRefuted), 1);
  EXPECT_EQ(ExitCodeOf(VerdictKind::kInconclusive), 3);
  EXPECT_EQ(ExitCodeOf(VerdictKind::kUnsupported), 3);
}

TEST(Verdict, VerifiedSaysWhatWasChecked) {
  Verdict verdict = Refuted();
  verdict.kind = VerdictKind::kVerified;
  verdict.findings.clear();
  verdict.proof.numbers.push_back(
      {.configuration = "a", .inputs = "task", .elements = 10, .worst = 1.5});
  verdict.proof.numbers.push_back(
      {.configuration = "b", .inputs = "ties", .elements = 20, .worst = 0.5});
  EXPECT_THAT(ToText(verdict, false),
              HasSubstr("numbers: 30 elements over 2 shapes and 2 kinds of "
                        "inputs, worst error 9.4 % of what rounding explains"));
  // What was not done is said.
  EXPECT_THAT(ToText(verdict, false), HasSubstr("algebra: not checked"));
}

}  // namespace
}  // namespace kernelsmith
