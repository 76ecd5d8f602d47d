#include "runner/text_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

using testing::ElementsAre;

constexpr char kTest[] =
    "// RUN: first\n"
    "//RUN: second\n"
    "// EXIT: 3\n"
    "// OUT:\n"
    "// | one\n"
    "// |\n"
    "code // | not a directive\n"
    "// ERR:\n"
    "// | took {{[0-9]+}} s\n";

TEST(TextTest, ReadsDirectives) {
  const Result<TextTest> test = ParseTextTest(kTest, "a.ptx");
  ASSERT_TRUE(test.ok());
  EXPECT_THAT(test->runs, ElementsAre("first", "second"));
  EXPECT_EQ(test->exit_code, 3);
  EXPECT_THAT(*test->out, ElementsAre("one", ""));
  EXPECT_THAT(*test->err, ElementsAre("took {{[0-9]+}} s"));
  EXPECT_FALSE(test->nvcc_flags.has_value());
}

TEST(TextTest, RefusesWhatCantBeATest) {
  EXPECT_EQ(ParseTextTest("nothing here\n", "a.test").error().Format(),
            "a.test: error: has no RUN: line");
  EXPECT_EQ(ParseTextTest("# | lost\n", "a.test").error().diagnostics()[0].where.line, 1);
  EXPECT_FALSE(ParseTextTest("# RUN: x\n# EXIT: many\n", "a.test").ok());
}

TEST(TextTest, PatternsMatchWithinLines) {
  EXPECT_TRUE(LineMatches("a.b", "a.b"));
  EXPECT_FALSE(LineMatches("a.b", "axb"));
  EXPECT_TRUE(LineMatches("(x) took {{[0-9]+}} s.", "(x) took 12 s."));
  EXPECT_FALSE(LineMatches("took {{[0-9]+}} s", "took long s"));
}

TEST(TextTest, ComparisonNamesTheLine) {
  EXPECT_EQ(CompareLines({"a", "b"}, {"a", "b"}), "");
  EXPECT_EQ(CompareLines({"a"}, {"b"}), "  line 1:\n    expected: a\n    printed:  b\n");
  EXPECT_EQ(CompareLines({"a"}, {}), "  line 1:\n    expected: a\n    printed:  nothing\n");
}

TEST(TextTest, RebaseKeepsPatternsThatStillMatch) {
  const std::string rebased = Rebase(kTest, {"two"}, {"took 5 s", "more"}, 0);
  EXPECT_EQ(rebased,
            "// RUN: first\n"
            "//RUN: second\n"
            "// EXIT: 0\n"
            "// OUT:\n"
            "// | two\n"
            "code // | not a directive\n"
            "// ERR:\n"
            "// | took {{[0-9]+}} s\n"
            "// | more\n");
}

TEST(TextTest, SubstitutesTheLongestName) {
  const std::map<std::string, std::string> values = {{"s", "file"}, {"st", "other"}};
  EXPECT_EQ(Substitute("%s %st 5%% %q", values), "file other 5% %q");
}

}  // namespace
}  // namespace kernelsmith
