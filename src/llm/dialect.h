// What differs between the APIs: how a question is put and how the pieces of an answer are read.
// To add one, write dialect_NAME.cc, declare its function here and put it into kDialects.
// OpenAI: https://platform.openai.com/docs/api-reference/chat
// Anthropic: https://docs.anthropic.com/en/api/messages and .../messages-streaming
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "llm/llm.h"

namespace kernelsmith::llm {

// An answer as far as it has come.
struct PartialAnswer {
  std::string text;
  std::optional<int64_t> input_tokens;
  std::optional<int64_t> output_tokens;
  std::optional<StopReason> stop_reason;
  bool complete = false;  // the server said that this was all
  // What went wrong at the server in the middle of the stream.
  std::string error;
  bool error_is_passing = false;  // worth another try
};

class Dialect {
 public:
  virtual ~Dialect() = default;
  // The provider's name on the command line, such as "openai".
  virtual const char* Provider() const = 0;
  virtual const char* DefaultBase() const = 0;
  // The address that questions go to, for a base with or without its version.
  virtual std::string Address(const std::string& base) const = 0;
  virtual const char* KeyVariable() const = 0;
  virtual const char* KeyHeader() const = 0;
  virtual const char* KeyPrefix() const = 0;
  virtual std::vector<std::string> Headers() const = 0;
  // `own_server`: not the provider's own address.
  virtual nlohmann::json Body(const std::string& model, const Conversation& conversation,
                              const AskOptions& options, bool own_server) const = 0;
  // One event of the stream. False: it is not of this API.
  virtual bool TakeEvent(const std::string& data, PartialAnswer& answer) const = 0;
  // A whole answer, from a server that does not stream.
  virtual bool TakeDocument(const std::string& body, PartialAnswer& answer) const = 0;
};

const Dialect& OpenAiDialect();
const Dialect& AnthropicDialect();

// Every provider that a model's name on the command line may begin with. Messages and help texts
// list them in this order.
using DialectFunction = const Dialect& (*)();
inline constexpr DialectFunction kDialects[] = {OpenAiDialect, AnthropicDialect};

// The server's words in an error's body, or an empty string; both APIs have them at error.message.
struct ServerError {
  std::string message;
  std::string code;  // error.code or error.type
};
ServerError ReadServerError(const std::string& body);

}  // namespace kernelsmith::llm
