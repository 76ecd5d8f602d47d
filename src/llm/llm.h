// Language models: one interface for servers (OpenAI-compatible, Anthropic) and recordings.
//
//   KS_TRY(auto model, MakeModel("anthropic:claude-x", options, world));
//   KS_TRY(Answer answer, model->Ask(conversation, {.max_output_tokens = 4096}));
//
// What a model answers is data: nothing here obeys it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kernelsmith::llm {

enum class Role { kSystem, kUser, kAssistant };
const char* Name(Role role);

struct Message {
  Role role = Role::kUser;
  std::string text;
  bool operator==(const Message&) const = default;
};

// System messages first, then user and assistant in turns, the user last.
using Conversation = std::vector<Message>;

enum class StopReason {
  kEnd,      // the model was done
  kLength,   // cut by max_output_tokens or the model's own limit
  kRefused,  // the model or the server's filter refused to answer
  kOther,
};
const char* Name(StopReason reason);
std::optional<StopReason> StopReasonOf(std::string_view name);

struct Answer {
  std::string text;
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;
  bool tokens_estimated = false;  // the server did not say: counted by length
  std::optional<double> cost;     // in the currency of the prices; without prices: not known
  StopReason stop_reason = StopReason::kEnd;
  int attempts = 1;  // requests that it took
};

struct AskOptions {
  int64_t max_output_tokens = 8192;
  std::optional<double> temperature;  // not sent if not set: some models refuse it
  std::stop_token stop;               // ends the question early, also while waiting
  // Called with each piece of text as it comes. After a cut stream the text begins anew:
  // `begins_anew` is then true for the first piece.
  std::function<void(std::string_view piece, bool begins_anew)> on_text;
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  // Errors: kTimeout for limits (time, budget, cancelled), kInvalidInput for what the user must
  // change (key, model, address), kUnsupported for servers that answer something else.
  virtual Result<Answer> Ask(const Conversation& conversation, const AskOptions& options) = 0;
  // The model in words, without its key.
  virtual std::string Describe() const = 0;
};

}  // namespace kernelsmith::llm
