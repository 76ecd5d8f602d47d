#include "llm/dialect.h"

namespace kernelsmith::llm {
namespace {

using nlohmann::json;

StopReason ReasonOf(const std::string& word) {
  if (word == "end_turn" || word == "stop_sequence") return StopReason::kEnd;
  if (word == "max_tokens" || word == "model_context_window_exceeded") return StopReason::kLength;
  if (word == "refusal") return StopReason::kRefused;
  return StopReason::kOther;
}

std::string Word(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const json& Part(const json& object, const char* name) {
  static const json kEmpty = json::object();
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : kEmpty;
}

void TakeUsage(const json& usage, PartialAnswer& answer) {
  const auto read = [&](const char* name) -> std::optional<int64_t> {
    const auto found = usage.find(name);
    if (found == usage.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<int64_t>();
  };
  // Cached input is counted beside input_tokens, and the model did read it.
  if (const auto input = read("input_tokens")) {
    answer.input_tokens = *input + read("cache_creation_input_tokens").value_or(0) +
                          read("cache_read_input_tokens").value_or(0);
  }
  if (const auto output = read("output_tokens")) answer.output_tokens = output;  // the sum so far
}

class Anthropic : public Dialect {
 public:
  const char* Provider() const override { return "anthropic"; }
  const char* DefaultBase() const override { return "https://api.anthropic.com/v1"; }
  std::string Address(const std::string& base) const override {
    return base + (base.ends_with("/v1") ? "/messages" : "/v1/messages");
  }
  const char* KeyVariable() const override { return "ANTHROPIC_API_KEY"; }
  const char* KeyHeader() const override { return "x-api-key"; }
  const char* KeyPrefix() const override { return ""; }
  std::vector<std::string> Headers() const override { return {"anthropic-version: 2023-06-01"}; }

  json Body(const std::string& model, const Conversation& conversation, const AskOptions& options,
            bool) const override {
    std::string system;  // stands beside the messages in this API
    json messages = json::array();
    for (const Message& each : conversation) {
      if (each.role == Role::kSystem) {
        if (!system.empty()) system += "\n\n";
        system += each.text;
      } else {
        messages.push_back({{"role", Name(each.role)}, {"content", each.text}});
      }
    }
    json body = {{"model", model},
                 {"max_tokens", options.max_output_tokens},
                 {"messages", std::move(messages)},
                 {"stream", true}};
    if (!system.empty()) body["system"] = system;
    if (options.temperature) body["temperature"] = *options.temperature;
    return body;
  }

  bool TakeEvent(const std::string& data, PartialAnswer& answer) const override {
    const json event = json::parse(data, nullptr, false);
    if (!event.is_object()) return false;
    const std::string type = Word(event, "type");
    if (type.empty()) return false;
    if (type == "message_start") {
      TakeUsage(Part(Part(event, "message"), "usage"), answer);
    } else if (type == "content_block_delta") {
      const json& delta = Part(event, "delta");
      // Other deltas (thinking, signatures) are no part of the answer.
      if (Word(delta, "type") == "text_delta") answer.text += Word(delta, "text");
    } else if (type == "message_delta") {
      const std::string reason = Word(Part(event, "delta"), "stop_reason");
      if (!reason.empty()) answer.stop_reason = ReasonOf(reason);
      TakeUsage(Part(event, "usage"), answer);
    } else if (type == "message_stop") {
      answer.complete = true;
    } else if (type == "error") {
      const std::string kind = Word(Part(event, "error"), "type");
      answer.error = kind + ": " + Word(Part(event, "error"), "message");
      answer.error_is_passing = kind == "overloaded_error" || kind == "api_error" ||
                                kind == "rate_limit_error" || kind == "timeout_error";
    }
    return true;  // ping, the blocks' frames, and events of a later version of the API
  }

  bool TakeDocument(const std::string& body, PartialAnswer& answer) const override {
    const json document = json::parse(body, nullptr, false);
    if (!document.is_object()) return false;
    const auto content = document.find("content");
    if (content == document.end() || !content->is_array()) return false;
    for (const json& block : *content) {
      if (block.is_object() && Word(block, "type") == "text") answer.text += Word(block, "text");
    }
    const std::string reason = Word(document, "stop_reason");
    if (!reason.empty()) answer.stop_reason = ReasonOf(reason);
    TakeUsage(Part(document, "usage"), answer);
    answer.complete = true;
    return true;
  }
};

}  // namespace

const Dialect& AnthropicDialect() {
  static const Anthropic dialect;
  return dialect;
}

}  // namespace kernelsmith::llm
