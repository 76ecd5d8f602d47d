// The client over real HTTP, against tests/llm/server.py with its faults. Pauses between attempts
// are a fake clock's, so that waiting costs nothing and can be measured exactly.
#include "llm/client.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "llm/model.h"
#include "support/testing/fake_clock.h"

namespace kernelsmith::llm {
namespace {

using std::chrono::milliseconds;

const std::string kKey = "sk-very-secret-0123456789";

// Runs the server until the end of the test.
class Server {
 public:
  explicit Server(const std::string& script)
      : path_(::testing::TempDir() + "ks_llm_" + std::to_string(getpid()) + ".json") {
    DiskFileSystem files;
    EXPECT_TRUE(files.Write(path_, script).ok());
    int in[2], out[2];
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe(out), 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (const int each : {in[0], in[1], out[0], out[1]}) close(each);
      execlp("python3", "python3", KS_PROJECT_DIR "/tests/llm/server.py", path_.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    FILE* output = fdopen(out[0], "r");
    int port = 0;
    EXPECT_EQ(std::fscanf(output, "%d", &port), 1) << "the server did not start";
    std::fclose(output);
    url = "http://127.0.0.1:" + std::to_string(port) + "/v1";
  }
  ~Server() {
    close(input_);
    waitpid(child_, nullptr, 0);
    std::remove(path_.c_str());
  }

  std::string url;

 private:
  std::string path_;
  pid_t child_ = -1;
  int input_ = -1;
};

class ClientTest : public ::testing::TestWithParam<const char*> {
 protected:
  Result<Answer> Ask(const std::string& script, AskOptions options = {.max_output_tokens = 100}) {
    server_ = std::make_unique<Server>(script);
    return AskAgain(std::move(options));
  }
  Result<Answer> AskAgain(AskOptions options = {.max_output_tokens = 100}) {
    if (!model_) {
      ModelOptions model_options{.client = client_, .budget = budget_};
      auto model =
          MakeModel(std::string(GetParam()) + ":m@" + server_->url, model_options,
                    {clock_, files_, [](const std::string& name) -> std::string {
                       return name == "KERNELSMITH_LLM_KEY" ? kKey : "key-for-another-server";
                     }});
      EXPECT_TRUE(model.ok());
      model_ = *std::move(model);
    }
    Result<Answer> answer =
        model_->Ask({{Role::kSystem, "be kind"}, {Role::kUser, "write a kernel"}}, options);
    // Whatever happens, the key is in nothing that comes out.
    const std::string seen =
        (answer.ok() ? answer->text : answer.error().Format()) + model_->Describe();
    EXPECT_EQ(seen.find(kKey), std::string::npos) << seen;
    return answer;
  }
  milliseconds Waited() const { return std::chrono::duration_cast<milliseconds>(clock_.Now()); }

  FakeClock clock_;
  DiskFileSystem files_;
  ClientOptions client_;
  std::shared_ptr<Budget> budget_ = std::make_shared<Budget>();
  std::unique_ptr<Server> server_;
  std::unique_ptr<LanguageModel> model_;
};

std::string Said(const Result<Answer>& answer) {
  return answer.ok() ? "answered: " + answer->text : answer.error().message();
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_P(ClientTest, StreamsAnAnswer) {
  client_.prices = Prices{.input = 2, .output = 10};
  std::string streamed;
  const Result<Answer> answer =
      Ask(R"([{"text": "Grüße, \"kernel\"\n", "usage": [100, 50],
               "expect": ["be kind", "write a kernel"]}])",
          {.max_output_tokens = 100,
           .on_text = [&](std::string_view piece, bool) { streamed += piece; }});
  ASSERT_TRUE(answer.ok()) << Said(answer);
  EXPECT_EQ(answer->text, "Grüße, \"kernel\"\n");
  EXPECT_EQ(streamed, answer->text);
  EXPECT_EQ(answer->input_tokens, 100);
  EXPECT_EQ(answer->output_tokens, 50);
  EXPECT_FALSE(answer->tokens_estimated);
  EXPECT_DOUBLE_EQ(answer->cost.value(), 0.0007);
  EXPECT_EQ(answer->stop_reason, StopReason::kEnd);
  EXPECT_EQ(answer->attempts, 1);
}

TEST_P(ClientTest, TakesWholeDocumentsAndAnswersWithoutUsage) {
  const std::string limit = GetParam() == std::string("openai") ? "length" : "max_tokens";
  const Result<Answer> answer =
      Ask(R"([{"stream": false, "text": "half a", "usage": null, "stop": ")" + limit + R"("}])");
  ASSERT_TRUE(answer.ok()) << Said(answer);
  EXPECT_EQ(answer->text, "half a");
  EXPECT_TRUE(answer->tokens_estimated);
  EXPECT_FALSE(answer->cost);
  EXPECT_EQ(answer->stop_reason, StopReason::kLength);
}

TEST_P(ClientTest, TriesAgainAfterFaultsOfTheServer) {
  client_.max_attempts = 8;
  client_.first_wait = milliseconds(1000);
  std::string last;
  bool anew = false;
  const Result<Answer> answer = Ask(
      R"([{"status": 500}, {"status": 529}, {"text": "cut off in the middle", "cut": "reset"},
          {"text": "ended in the middle", "cut": "clean"}, {"text": "broken JSON", "broken": true},
          {"raw": "{\"oops\": "}, {"text": "went wrong", "stream_error": "overloaded_error"},
          {"text": "good"}])",
      {.max_output_tokens = 100, .on_text = [&](std::string_view piece, bool begins_anew) {
         anew |= begins_anew;
         last = begins_anew ? std::string(piece) : last + std::string(piece);
       }});
  ASSERT_TRUE(answer.ok()) << Said(answer);
  EXPECT_EQ(answer->text, "good");
  EXPECT_EQ(last, "good");
  EXPECT_TRUE(anew);
  EXPECT_EQ(answer->attempts, 8);
  // 1 + 2 + 4 + ... + 32 + 60 s, each less at most a quarter.
  EXPECT_GE(Waited(), milliseconds(92'250));
  EXPECT_LE(Waited(), milliseconds(123'000));
}

TEST_P(ClientTest, HonoursRetryAfter) {
  const Result<Answer> answer = Ask(
      R"([{"status": 429, "headers": {"Retry-After": "17"}},
          {"status": 429, "headers": {"Retry-After": "90", "retry-after-ms": "20000"}},
          {"status": 503, "headers": {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}},
          {"text": "good"}])");
  ASSERT_TRUE(answer.ok()) << Said(answer);
  EXPECT_GE(Waited(), milliseconds(17'000 + 20'000 + 3'000));
  EXPECT_LE(Waited(), milliseconds(17'000 + 20'000 + 4'100));
}

TEST_P(ClientTest, GivesUp) {
  client_.max_attempts = 2;
  EXPECT_HAS(Said(Ask(R"([{"status": 500, "error": "no luck"}, {"status": 500, "error": "no luck"},
      {"status": 429, "headers": {"Retry-After": "4000"}},
      {"status": 400, "error": "too long \u001b[2J"}, {"status": 401, "error": "bad key", "echo_key": true},
      {"status": 429, "code": "insufficient_quota", "error": "no money"},
      {"raw": "<html>", "content_type": "text/html"}])")),
             "the server answered 500: no luck (after 2 attempts)");
  EXPECT_HAS(Said(AskAgain()), "the server asks to wait 4000 s");
  EXPECT_HAS(Said(AskAgain()), "the server answered 400: too long \\x1b[2J");
  const std::string refused = Said(AskAgain());
  EXPECT_HAS(refused, "***");
  EXPECT_HAS(refused, "(the key was refused)");
  EXPECT_HAS(Said(AskAgain()), "no money");
  EXPECT_HAS(Said(AskAgain()), "the server answered 'text/html', expected text/event-stream");
  EXPECT_EQ(AskAgain().error().kind(), ErrorKind::kInvalidInput);  // the script is over
}

TEST_P(ClientTest, TimesOut) {
  client_.max_attempts = 1;
  client_.idle_timeout = milliseconds(700);
  EXPECT_HAS(Said(Ask(R"([{"text": "late", "wait": 20}, {"text": "a slow one, but it comes",
                              "pause": 0.15}])")),
             "sent nothing for too long");
  EXPECT_EQ(AskAgain()->text, "a slow one, but it comes");
}

TEST_P(ClientTest, CanBeCancelled) {
  std::stop_source source;
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(300));
    source.request_stop();
  });
  const Result<Answer> answer = Ask(R"([{"text": "late", "wait": 20}])",
                                    {.max_output_tokens = 100, .stop = source.get_token()});
  canceller.join();
  EXPECT_HAS(Said(answer), "cancelled");
  EXPECT_HAS(Said(AskAgain({.stop = source.get_token()})), "cancelled");
}

TEST_P(ClientTest, KeepsToItsBudget) {
  budget_ = std::make_shared<Budget>(Limits{.tokens = 1000});
  ASSERT_TRUE(Ask(R"([{"text": "dear", "usage": [500, 400]}, {"text": "never asked for"}])").ok());
  const Result<Answer> second = AskAgain();
  EXPECT_HAS(Said(second), "the token budget is used up: 900 of 1000 spent");
  EXPECT_EQ(second.error().kind(), ErrorKind::kTimeout);
  EXPECT_EQ(budget_->spent().input_tokens, 500);
}

TEST_P(ClientTest, CountsWhatACutStreamCost) {
  client_.prices = Prices{.input = 1000, .output = 1000};
  budget_ = std::make_shared<Budget>(Limits{.cost = 0.2});
  const Result<Answer> answer = Ask(
      R"([{"text": "a long answer that is cut somewhere in the middle of it", "cut": "reset",
           "usage": [600, 1]}, {"text": "never asked for"}])");
  EXPECT_HAS(Said(answer), "the money budget is used up");
  EXPECT_GT(budget_->spent().cost, 0.05);
  model_.reset();
  client_.prices.reset();
  EXPECT_HAS(Said(AskAgain()), "needs the model's prices");
}

TEST_P(ClientTest, KeepsToTheRateLimit) {
  client_.requests_per_minute = 6;
  ASSERT_TRUE(Ask(R"([{"text": "a"}, {"text": "b"}, {"text": "c"}])").ok());
  ASSERT_TRUE(AskAgain().ok());
  ASSERT_TRUE(AskAgain().ok());
  EXPECT_EQ(Waited(), milliseconds(20'000));
}

TEST_P(ClientTest, HidesAKeyThatTheModelRepeats) {
  std::string streamed;  // The text comes in pieces that are shorter than the key.
  const Result<Answer> answer =
      Ask(R"([{"text": "your key is", "echo_key": true}])",
          {.max_output_tokens = 100,
           .on_text = [&](std::string_view piece, bool) { streamed += piece; }});
  ASSERT_TRUE(answer.ok()) << Said(answer);
  // The server got the key of its own, and no other provider's.
  EXPECT_EQ(answer->text,
            GetParam() == std::string("openai") ? "your key is Bearer ***" : "your key is ***");
  EXPECT_EQ(streamed, answer->text);
}

INSTANTIATE_TEST_SUITE_P(Dialects, ClientTest, ::testing::Values("openai", "anthropic"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Keys, NeverShow) {
  const Secret secret(kKey);
  EXPECT_EQ(fmt::format("{}", secret), "***");
  std::ostringstream out;
  out << secret;
  EXPECT_EQ(out.str(), "***");
  EXPECT_EQ(secret.Redact("a " + kKey + kKey), "a ******");
}

TEST(Keys, ComeFromTheEnvironment) {
  FakeClock clock;
  DiskFileSystem files;
  const auto make = [&](const std::string& spec, const std::string& key) {
    const auto model = MakeModel(spec, {}, {clock, files, [&](const auto&) { return key; }});
    return model.ok() ? "ok" : model.error().message();
  };
  EXPECT_EQ(make("anthropic:x", kKey), "ok");
  EXPECT_EQ(make("anthropic:x", ""), "anthropic:x needs a key: set ANTHROPIC_API_KEY");
  EXPECT_EQ(make("openai:x@http://localhost:1/v1", ""), "ok");
  EXPECT_HAS(make("openai:x", kKey + "\r\nx: y"), "control characters");
}

}  // namespace
}  // namespace kernelsmith::llm
