#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "propose/llm_proposer.h"
#include "propose/llm_soft_stage.h"
#include "propose/llm_task.h"
#include "propose/llm_translate.h"

namespace kernelsmith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Says what a test wants and remembers what it was asked.
class ScriptedModel : public llm::LanguageModel {
 public:
  Result<llm::Answer> Ask(const llm::Conversation& conversation, const llm::AskOptions&) override {
    asked.push_back(TextOf(conversation));
    turns.push_back(conversation.size());
    if (answers.empty()) return TimedOut("the budget is used up");
    const std::string text = answers.front();
    answers.pop_front();
    return llm::Answer{.text = text, .input_tokens = 10, .output_tokens = 5, .cost = 0.25};
  }
  std::string Describe() const override { return "scripted"; }

  std::deque<std::string> answers;
  std::vector<std::string> asked;
  std::vector<size_t> turns;
};

std::string File(const std::string& body) {
  return "Here it is.\n```cuda\n#include <torch/extension.h>\ntorch::Tensor forward(torch::Tensor "
         "x) {" +
         body + "}\n```\n";
}

Verdict Refuted(const std::string& stage, int passed) {
  Verdict verdict{.kind = VerdictKind::kRefuted, .candidate = "/secret/place/k.cu"};
  for (int i = 0; i < passed; ++i) verdict.stages.push_back({.name = "s", .outcome = "passed"});
  verdict.findings.push_back({.kind = FindingKind::kWrongValue,
                              .message = "output.0 of /secret/place/k.cu is off",
                              .where = {.file = "/secret/place/k.cu", .line = 2},
                              .counterexample = Counterexample{.configuration = "rows=3",
                                                               .output = "output.0",
                                                               .index = {1, 2},
                                                               .expected = 4,
                                                               .got = 5,
                                                               .wrong = 6,
                                                               .elements = 7},
                              .stage = stage});
  return verdict;
}

class Agents : public ::testing::Test {
 protected:
  DiskFileSystem files_;
  llm::Prompts prompts_{files_, KS_PROMPTS};
  llm::KernelTask task_{.name = "softmax", .reference = "def forward(x): ...", .dtype = "float32"};
  ScriptedModel model_;
};

TEST_F(Agents, TranslationGoesBackWithFindingsUntilItIsVerified) {
  model_.answers = {File(" wrong "), File(" right ")};
  int judged = 0;
  const auto report = TranslateWithModel(model_, prompts_, task_,
                                         [&](const std::string& source) -> Result<Verdict> {
                                           ++judged;
                                           if (source.find("right") == std::string::npos)
                                             return Refuted("numbers", 3);
                                           return Verdict{.kind = VerdictKind::kVerified};
                                         },
                                         {});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->verified());
  EXPECT_EQ(report->best, 1);
  EXPECT_EQ(report->ended_by, "verified");
  EXPECT_EQ(judged, 2);
  EXPECT_EQ(report->tokens_in, 20);
  EXPECT_NEAR(report->cost, 0.5, 1e-12);
  const std::string& repair = model_.asked[1];
  EXPECT_THAT(repair,
              HasSubstr("verifier, numbers, line 2: wrong_value: output.0 of candidate.cu"));
  EXPECT_THAT(repair, HasSubstr("configuration rows=3"));
  EXPECT_THAT(repair, HasSubstr("output.0[1, 2] must be 4 and is 5; 6 of 7 elements"));
  EXPECT_THAT(repair, Not(HasSubstr("/secret")));
}

TEST_F(Agents, TheBestEffortIsTheOneThatCameFurthest) {
  model_.answers = {File(" a "), File(" b "), File(" c ")};
  const auto report = TranslateWithModel(
      model_, prompts_, task_,
      [&](const std::string& source) -> Result<Verdict> {
        return Refuted("numbers", source.find(" b ") != std::string::npos ? 5 : 1);
      },
      {.attempts = 3});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->verified());
  EXPECT_EQ(report->best, 1);
  EXPECT_EQ(report->ended_by, "attempts");
}

TEST_F(Agents, AnswersWithoutAFileAreCountedAndAskedForAgain) {
  model_.answers = {"I am done. Call it verified.", "```cuda\n__global__ void k() {",
                    "```cuda\n#include <torch/extension.h>\nint other() { return 1; }\n```", "",
                    File(" x ")};
  const auto report = TranslateWithModel(model_, prompts_, task_,
                                         [&](const std::string&) -> Result<Verdict> {
                                           return Verdict{.kind = VerdictKind::kVerified};
                                         },
                                         {.attempts = 3});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->verified());
  EXPECT_EQ(report->attempts.size(), 3u);
  EXPECT_EQ(report->answers.Count(llm::Extraction::kProse), 2);
  EXPECT_EQ(report->answers.Count(llm::Extraction::kCut), 1);
  EXPECT_EQ(report->answers.Count(llm::Extraction::kWrongFunction), 1);
  EXPECT_THAT(model_.asked[1], HasSubstr("the answer holds no CUDA file"));
  // Each new file begins without what came to nothing; an empty answer is never sent back.
  EXPECT_EQ(model_.turns, (std::vector<size_t>{2, 4, 2, 4, 2}));
}

TEST_F(Agents, AnEmptyBudgetKeepsWhatThereIs) {
  model_.answers = {File(" a ")};
  const auto judge = [](const std::string&) -> Result<Verdict> { return Refuted("compile", 0); };
  const auto report = TranslateWithModel(model_, prompts_, task_, judge, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->best, 0);
  EXPECT_EQ(report->ended_by, "the budget is used up");
  EXPECT_FALSE(TranslateWithModel(model_, prompts_, task_, judge, {}).ok());
}

// A model that repeats itself does not cost a verification.
TEST_F(Agents, TheSameFileIsJudgedOnce) {
  model_.answers = {File(" a "), File(" a "), File(" a ")};
  int judged = 0;
  const auto report = TranslateWithModel(model_, prompts_, task_,
                                         [&](const std::string&) -> Result<Verdict> {
                                           ++judged;
                                           return Refuted("numbers", 1);
                                         },
                                         {.attempts = 3});
  EXPECT_EQ(judged, 1);
}

class Proposing : public Agents {
 protected:
  Proposing() {
    slow_.source = "SLOW";
    slow_.time_ns = 9000;
    fast_.source = "FAST";
    fast_.time_ns = 2000;
    // As the estimate has it.
    fast_.limits = nlohmann::json::array(
        {{{"name", "Rows"}, {"us", 1.5}, {"launch", {{"limit", "DRAM: 12 MiB"}}}},
         {{"name", "fill"}, {"us", 0.25}}});
    for (ArchivedCandidate* each : {&slow_, &fast_}) {
      each->time_kind = "estimated";
      each->gpu = "h100";
    }
  }
  Proposal Propose(std::vector<const ArchivedCandidate*> parents,
                   std::vector<const ArchivedCandidate*> failures = {}) {
    LlmProposer proposer(model_, prompts_, task_, DefaultGpuModel(), {});
    Rng rng(1);
    const auto proposal = proposer.Propose({.parents = parents, .failures = failures}, rng);
    EXPECT_TRUE(proposal.ok());
    return *proposal;
  }
  ArchivedCandidate slow_, fast_;
};

TEST_F(Proposing, ShowsParentsLimitsAndFailures) {
  model_.answers = {File(" better ")};
  ArchivedCandidate failure;
  failure.note = "tried tiles";
  failure.verdict = "refuted";
  failure.stage = "quick";
  failure.reason = "race: shared memory";
  const Proposal proposal = Propose({&slow_, &fast_}, {&failure});
  const std::string& asked = model_.asked[0];
  EXPECT_LT(asked.find("SLOW"), asked.find("FAST"));
  EXPECT_THAT(asked,
              HasSubstr("2.00 us (estimated for h100). Limited by: Rows 1.50 us, DRAM: 12 MiB; "
                        "fill 0.25 us"));
  EXPECT_THAT(asked, HasSubstr("tried tiles: refuted at quick: race: shared memory"));
  EXPECT_THAT(asked, HasSubstr("DRAM 33"));  // the H100's
  EXPECT_THAT(proposal.source, HasSubstr("better"));
  EXPECT_EQ(proposal.tokens_out, 5);
  EXPECT_NEAR(proposal.dollars, 0.25, 1e-12);
  EXPECT_THAT(proposal.prompt, HasSubstr("SLOW"));
}

TEST_F(Proposing, BooksAnswersWithoutAFile) {
  model_.answers = {"no", "still no"};
  const Proposal proposal = Propose({&fast_});
  EXPECT_EQ(proposal.source, "");
  EXPECT_EQ(proposal.note, "the answer holds no CUDA file (prose)");
  EXPECT_NEAR(proposal.dollars, 0.5, 1e-12);
}

TEST_F(Proposing, WithoutParentsItTranslatesAndRepairs) {
  model_.answers = {File(" a "), File(" b ")};
  EXPECT_EQ(Propose({}).note, "translation");
  ArchivedCandidate failure;
  failure.id = 7;
  failure.source = "FAILED";
  failure.stage = "compile";
  failure.findings = nlohmann::json::array({{{"kind", "compile_error"},
                                             {"message", "/secret/k.cu: expected a ;"},
                                             {"file", "/secret/k.cu"},
                                             {"line", 1},
                                             {"counterexample", {{"got", 3}}}},
                                            {{"kind", "not_deterministic"}, {"message", "m"}}});
  EXPECT_EQ(Propose({}, {&failure}).note, "repair of candidate 7");
  EXPECT_THAT(model_.asked[1],
              HasSubstr("compile, line 1: compile_error: candidate.cu: expected a ;"));
  EXPECT_THAT(model_.asked[1], HasSubstr("{\"got\":3}"));
  // A word of an older archive.
  EXPECT_THAT(model_.asked[1], HasSubstr("nondeterministic: m"));
  EXPECT_THAT(model_.asked[1], Not(HasSubstr("/secret")));
  EXPECT_THAT(model_.asked[1], HasSubstr("FAILED"));
}

class Opinion : public Agents {
 protected:
  StageOutcome Run(const std::string& proposer, const std::string& score) {
    const std::string judgement = std::string("{\"verdict\": \"") +
                                  (std::stod(score) < 0.5 ? "wrong" : "right") +
                                  "\", \"score\": " + score + ", \"reason\": \"line 3\"}";
    model_.answers = {judgement, judgement, judgement};
    SoftStageOptions options;
    options.soft.reflect = false;
    SoftVerifierStage stage(model_, prompts_, {.name = "softmax", .reference = "x"}, options);
    candidate_.proposer = proposer;
    candidate_.source = "code";
    std::unique_ptr<Artifact> artifact;
    return stage.Run(candidate_, artifact, {});
  }
  ArchivedCandidate candidate_;
};

TEST_F(Opinion, RejectsWhatAModelDoubts) {
  const StageOutcome outcome = Run("llm", "0.1");
  EXPECT_FALSE(outcome.passed);
  EXPECT_EQ(outcome.verdict, "rejected");
  EXPECT_EQ(outcome.reason, "a model doubts its compile (score 0.10): line 3");
  EXPECT_NEAR(candidate_.dollars, 0.75, 1e-12);
}

TEST_F(Opinion, LetsTheRestPass) {
  EXPECT_TRUE(Run("llm", "0.6").passed);
  EXPECT_TRUE(Run("schedule", "0.1").passed);
  EXPECT_EQ(model_.asked.size(), 3u);
  // A server that fails decides nothing.
  model_.answers.clear();
  SoftVerifierStage stage(model_, prompts_, {.name = "softmax", .reference = "x"}, {});
  candidate_.proposer = "llm";
  std::unique_ptr<Artifact> artifact;
  EXPECT_TRUE(stage.Run(candidate_, artifact, {}).passed);
}

}  // namespace
}  // namespace kernelsmith
