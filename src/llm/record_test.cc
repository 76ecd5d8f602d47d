#include "llm/record.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "llm/model.h"
#include "support/testing/fake_clock.h"

namespace kernelsmith::llm {
namespace {

// Answers "1", "2", ... whatever it is asked.
class Counting : public LanguageModel {
 public:
  Result<Answer> Ask(const Conversation&, const AskOptions&) override {
    return Answer{.text = std::to_string(++count_),
                  .input_tokens = 5,
                  .output_tokens = 1,
                  .cost = 0.25,
                  .stop_reason = StopReason::kLength};
  }
  std::string Describe() const override { return "counting"; }

 private:
  int count_ = 0;
};

class RecordTest : public ::testing::Test {
 protected:
  void SetUp() override { std::remove(path_.c_str()); }
  void TearDown() override { std::remove(path_.c_str()); }

  Result<std::unique_ptr<LanguageModel>> Replay() {
    return MakeModel("replay:" + path_, {}, {clock_, files_, [](const auto&) { return ""; }});
  }

  FakeClock clock_;
  DiskFileSystem files_;
  std::string path_ = ::testing::TempDir() + "ks_record_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
  const Conversation a_{{Role::kSystem, "be kind"}, {Role::kUser, "a\n\xFF"}};
  const Conversation b_{{Role::kUser, "b"}};
};

TEST_F(RecordTest, ReplaysAnswersInTheirOrder) {
  RecordingModel recording(std::make_unique<Counting>(), path_);
  for (const Conversation* each : {&a_, &b_, &a_}) ASSERT_TRUE(recording.Ask(*each, {}).ok());
  const auto replay = Replay();
  ASSERT_TRUE(replay.ok()) << replay.error().Format();
  EXPECT_EQ((*replay)->Ask(a_, {})->text, "1");
  const Result<Answer> again = (*replay)->Ask(a_, {});
  EXPECT_EQ(again->text, "3");
  EXPECT_EQ(again->input_tokens, 5);
  EXPECT_EQ(again->cost, 0.25);
  EXPECT_EQ(again->stop_reason, StopReason::kLength);
  EXPECT_EQ((*replay)->Ask(b_, {})->text, "2");
  EXPECT_FALSE((*replay)->Ask(b_, {}).ok());
  EXPECT_FALSE((*replay)->Ask(a_, {.temperature = 0.5}).ok());
  EXPECT_FALSE((*replay)->Ask({{Role::kUser, "c"}}, {}).ok());
}

TEST_F(RecordTest, BrokenFiles) {
  RecordingModel recording(std::make_unique<Counting>(), path_);
  ASSERT_TRUE(recording.Ask(a_, {}).ok());
  const std::string line = *files_.Read(path_);
  // A line that a killed run left behind is no harm, any other one that can't be read is.
  ASSERT_TRUE(files_.Write(path_, line + line.substr(0, 20)).ok());
  ASSERT_TRUE(Replay().ok());
  EXPECT_EQ((*Replay())->Ask(a_, {})->text, "1");
  ASSERT_TRUE(files_.Write(path_, line + "{}\n").ok());
  EXPECT_EQ(Replay().error().diagnostics().front().where.line, 2);
  RecordingModel nowhere(std::make_unique<Counting>(), "/nonexistent/folder/x.jsonl");
  EXPECT_FALSE(nowhere.Ask(a_, {}).ok());
}

TEST(ModelSpec, Parses) {
  const auto own = ParseModelSpec("openai:org/llama3:8b@http://localhost:8080/v1/");
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->model, "org/llama3:8b");
  EXPECT_EQ(own->base, "http://localhost:8080/v1");
  EXPECT_EQ(own->dialect, &OpenAiDialect());
  EXPECT_EQ(ParseModelSpec("anthropic:claude-x")->base, "");
  EXPECT_EQ(ParseModelSpec("anthropic:claude-x")->dialect, &AnthropicDialect());
  EXPECT_EQ(ParseModelSpec("replay:x.jsonl")->dialect, nullptr);
  EXPECT_EQ(ParseModelSpec("openai:m@1@https://h/v1")->model, "m@1");
  for (const char* bad :
       {"", "claude", "other:x", "openai:", "openai:@http://h", "openai:m@http://"}) {
    EXPECT_FALSE(ParseModelSpec(bad).ok()) << bad;
  }
  EXPECT_EQ(ParseModelSpec("other:x").error().message(),
            "unknown model provider 'other': expected openai:MODEL[@URL], anthropic:MODEL[@URL] or "
            "replay:FILE");
  EXPECT_EQ(KeyVariables(), "OPENAI_API_KEY and ANTHROPIC_API_KEY");
  const auto password = ParseModelSpec("openai:m@https://me:hush@host/v1");
  ASSERT_FALSE(password.ok());
  EXPECT_EQ(password.error().message().find("hush"), std::string::npos);
}

}  // namespace
}  // namespace kernelsmith::llm
