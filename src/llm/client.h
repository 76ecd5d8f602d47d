// A model behind HTTP: asks, asks again where that may help, and keeps to limits.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include "llm/budget.h"
#include "llm/dialect.h"
#include "llm/http.h"
#include "llm/llm.h"
#include "support/clock.h"
#include "support/rng.h"

namespace kernelsmith::llm {

struct ClientOptions {
  int max_attempts = 5;
  std::chrono::milliseconds first_wait{1'000};  // doubles with every attempt, a quarter at random
  std::chrono::milliseconds longest_wait{60'000};
  // A server that asks for a longer pause than this is not waited for.
  std::chrono::milliseconds longest_retry_after{300'000};
  double requests_per_minute = 0;  // 0: no limit
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds idle_timeout{120'000};
  std::chrono::milliseconds total_timeout{600'000};
  // More than any model writes; a server that never ends must not fill the memory.
  size_t max_answer_bytes = size_t{16} << 20;
  std::optional<Prices> prices;
  uint64_t seed = 1;  // the seed of the random part of waits
};

class Client : public LanguageModel {
 public:
  // `base`: empty for the provider's own address. `budget` may be shared with other models.
  Client(const Dialect& dialect, std::string model, std::string base, Secret key,
         ClientOptions options, std::shared_ptr<HttpTransport> transport, Clock& clock,
         std::shared_ptr<Budget> budget);

  Result<Answer> Ask(const Conversation& conversation, const AskOptions& options) override;
  std::string Describe() const override;

 private:
  struct Attempt {
    PartialAnswer answer;
    std::string problem;  // empty: it went well
    ErrorKind kind = ErrorKind::kTimeout;
    bool again = false;
    std::optional<std::chrono::milliseconds> retry_after;
  };
  Attempt Try(const HttpRequest& request, const AskOptions& options, bool first);
  void JudgeStatus(const HttpHead& head, const std::string& body, Attempt& attempt) const;
  // False: cancelled.
  bool Wait(Clock::Duration duration, const std::stop_token& stop);
  bool WaitForTurn(const std::stop_token& stop);
  std::chrono::milliseconds Pause(int attempt);
  // A server's words as a message may have them: without the key, short, harmless to a terminal.
  std::string Quote(const std::string& text) const;

  const Dialect& dialect_;
  std::string model_;
  std::string base_;
  bool own_server_;
  Secret key_;
  ClientOptions options_;
  std::shared_ptr<HttpTransport> transport_;
  Clock& clock_;
  std::shared_ptr<Budget> budget_;
  std::mutex mutex_;  // guards the two below
  Clock::Duration next_turn_{0};
  Rng rng_;
};

}  // namespace kernelsmith::llm
