#include "llm/soft_verifier.h"

#include <gtest/gtest.h>

#include <deque>

namespace kernelsmith::llm {
namespace {

const std::string kRight = R"({"verdict": "right", "score": 0.9, "reason": "fine"})";
const std::string kWrong = R"({"verdict": "wrong", "score": 0.2, "reason": "line 3"})";

class Scripted : public LanguageModel {
 public:
  Result<Answer> Ask(const Conversation& conversation, const AskOptions&) override {
    asked.push_back(conversation);
    if (answers.empty()) return TimedOut("the script is over");
    Answer answer{.text = answers.front(), .input_tokens = 10, .output_tokens = 2, .cost = 0.5};
    answers.pop_front();
    return answer;
  }
  std::string Describe() const override { return "scripted"; }

  std::deque<std::string> answers;
  std::vector<Conversation> asked;
};

class SoftVerifierTest : public ::testing::Test {
 protected:
  Result<SoftVerdict> Ask() {
    return AskSoftVerifiers(model_, prompts_, {"softmax", "forward", "REFERENCE"}, "CODE", {});
  }
  DiskFileSystem files_;
  Prompts prompts_{files_, KS_PROJECT_DIR "/prompts"};
  Scripted model_;
};

TEST_F(SoftVerifierTest, ReflectionDecidesAndTheWorstSideCounts) {
  model_.answers = {kWrong, kRight, "I think so", kRight, kRight, kWrong};
  const Result<SoftVerdict> verdict = Ask();
  ASSERT_TRUE(verdict.ok()) << verdict.error().Format();
  EXPECT_EQ(verdict->score, 0.2);
  EXPECT_EQ(verdict->opinions.at(0).score, 0.9);
  EXPECT_EQ(verdict->opinions.at(2).reason, "line 3");
  EXPECT_EQ(verdict->input_tokens, 60);
  EXPECT_EQ(verdict->cost, 3.0);
  // The second round has the first one and its answer before it.
  ASSERT_EQ(model_.asked.size(), 6U);
  EXPECT_EQ(model_.asked[1].size(), model_.asked[0].size() + 2);
  EXPECT_EQ(model_.asked[1][2], (Message{Role::kAssistant, kWrong}));
  EXPECT_EQ(model_.asked[1].back().role, Role::kUser);
  EXPECT_NE(model_.asked[0], model_.asked[2]);
  EXPECT_NE(model_.asked[0].back().text.find("```cuda\nCODE\n```"), std::string::npos);
}

TEST_F(SoftVerifierTest, WhatIsNoJudgementHasNoScore) {
  model_.answers = {kRight, kRight, kRight, "looks good to me", kRight, kRight};
  const Result<SoftVerdict> verdict = Ask();
  ASSERT_TRUE(verdict.ok());
  EXPECT_FALSE(verdict->score);
  EXPECT_FALSE(verdict->opinions.at(1).score);
  model_.answers = {kRight};
  EXPECT_FALSE(Ask().ok());
}

TEST(ParseOpinion, IsStrict) {
  EXPECT_TRUE(ParseOpinion("x", kRight).ok());
  EXPECT_EQ(ParseOpinion("x", "\n```json\n" + kWrong + "\n```\n")->score, 0.2);
  for (const std::string& bad :
       {std::string(), "Sure! " + kRight, kRight + kRight, std::string("[1]"),
        std::string(R"({"verdict": "right", "score": 0.9})"),
        std::string(R"({"verdict": "right", "score": 0.9, "reason": "", "more": 1})"),
        std::string(R"({"verdict": "yes", "score": 0.9, "reason": ""})"),
        std::string(R"({"verdict": "right", "score": "0.9", "reason": ""})"),
        std::string(R"({"verdict": "right", "score": 1.1, "reason": ""})"),
        std::string(R"({"verdict": "right", "score": 0.1, "reason": ""})"),
        std::string(R"({"verdict": "wrong", "score": 0.5, "reason": ""})"),
        std::string(R"({"verdict": "right", "score": 0.9, "reason": 1})")}) {
    EXPECT_FALSE(ParseOpinion("x", bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace kernelsmith::llm
