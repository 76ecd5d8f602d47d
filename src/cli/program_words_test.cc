#include "cli/program_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Words = std::vector<std::string>;

// A small command line; `./a.out` is the only file that can be run.
ProgramWords Split(const Words& arguments) {
  CLI::App app;
  bool json = false;
  std::string seed;
  std::string group;
  std::vector<std::string> only;
  app.add_flag("--json", json);
  app.add_option("--seed", seed);
  app.add_subcommand("run");
  CLI::App* profile = app.add_subcommand("profile");
  profile->add_option("-g,--group", group);
  profile->add_option("--only", only);
  app.add_subcommand("verify");
  return SplitProgramWords(
      app, {{"run", ProgramForm::kProgram}, {"profile", ProgramForm::kProgramOrCandidate}},
      arguments, [](const std::string& path) { return path == "./a.out"; });
}

TEST(ProgramWords, FromTheProgramOnEverythingIsItsOwn) {
  const ProgramWords words = Split({"--seed", "5", "run", "--json", "x", "--json", "y.cu"});
  EXPECT_THAT(words.own, ElementsAre("--seed", "5", "run", "--json"));
  EXPECT_THAT(words.operands, ElementsAre("x", "--json", "y.cu"));
  EXPECT_FALSE(words.candidate);
}

TEST(ProgramWords, ACandidateHasOptionsOnEverySide) {
  const Words orders[] = {{"profile", "--group", "quick", "--json", "softmax", "k.cu"},
                          {"profile", "--json", "softmax", "--group", "quick", "k.cu"},
                          {"profile", "softmax", "k.cu", "--group=quick", "--json"},
                          {"--json", "profile", "softmax", "k.cu", "-g", "quick"}};
  for (const Words& order : orders) {
    const ProgramWords words = Split(order);
    EXPECT_TRUE(words.candidate);
    EXPECT_THAT(words.operands, ElementsAre("softmax", "k.cu"));
    EXPECT_EQ(words.own.size() + 2, order.size());
  }
}

TEST(ProgramWords, AFileThatCanBeRunIsAProgramWhateverItsArguments) {
  const ProgramWords words = Split({"profile", "--json", "./a.out", "k.cu", "--group", "quick"});
  EXPECT_FALSE(words.candidate);
  EXPECT_THAT(words.own, ElementsAre("profile", "--json"));
  EXPECT_THAT(words.operands, ElementsAre("./a.out", "k.cu", "--group", "quick"));
}

TEST(ProgramWords, BehindTwoDashesIsAProgram) {
  ProgramWords words = Split({"profile", "--json", "--", "softmax", "k.cu"});
  EXPECT_FALSE(words.candidate);
  EXPECT_THAT(words.own, ElementsAre("profile", "--json"));
  EXPECT_THAT(words.operands, ElementsAre("softmax", "k.cu"));
  words = Split({"run", "--", "--odd-name", "--", "-x"});
  EXPECT_THAT(words.operands, ElementsAre("--odd-name", "--", "-x"));
}

TEST(ProgramWords, AProgramOfThePathKeepsItsOptions) {
  const ProgramWords words = Split({"profile", "tool", "--group", "quick"});
  EXPECT_FALSE(words.candidate);
  EXPECT_THAT(words.own, ElementsAre("profile"));
  EXPECT_THAT(words.operands, ElementsAre("tool", "--group", "quick"));
}

TEST(ProgramWords, OtherCommandLinesStayAsTheyAre) {
  for (const Words& line : {Words{"verify", "softmax", "k.cu", "--", "x"}, Words{"--json"}, Words{},
                            Words{"prifile"}}) {
    const ProgramWords words = Split(line);
    EXPECT_EQ(words.own, line);
    EXPECT_THAT(words.operands, IsEmpty());
  }
  EXPECT_THAT(Split({"run"}).own, ElementsAre("run"));
  EXPECT_THAT(Split({"run", "--seed"}).own, ElementsAre("run", "--seed"));
}

}  // namespace
}  // namespace kernelsmith
