#include "llm/dialect.h"

namespace kernelsmith::llm {
namespace {

using nlohmann::json;

StopReason ReasonOf(const std::string& word) {
  if (word == "stop") return StopReason::kEnd;
  if (word == "length") return StopReason::kLength;
  if (word == "content_filter") return StopReason::kRefused;
  return StopReason::kOther;
}

std::string TextOf(const json& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_string() ? content->get<std::string>() : "";
}

class OpenAi : public Dialect {
 public:
  const char* Provider() const override { return "openai"; }
  const char* DefaultBase() const override { return "https://api.openai.com/v1"; }
  std::string Address(const std::string& base) const override { return base + "/chat/completions"; }
  const char* KeyVariable() const override { return "OPENAI_API_KEY"; }
  const char* KeyHeader() const override { return "Authorization"; }
  const char* KeyPrefix() const override { return "Bearer "; }
  std::vector<std::string> Headers() const override { return {}; }

  json Body(const std::string& model, const Conversation& conversation, const AskOptions& options,
            bool own_server) const override {
    json messages = json::array();
    for (const Message& each : conversation) {
      messages.push_back({{"role", Name(each.role)}, {"content", each.text}});
    }
    json body = {{"model", model},
                 {"messages", std::move(messages)},
                 {"stream", true},
                 {"stream_options", {{"include_usage", true}}}};
    // OpenAI's reasoning models refuse max_tokens; llama.cpp and Ollama know only that.
    body[own_server ? "max_tokens" : "max_completion_tokens"] = options.max_output_tokens;
    if (options.temperature) body["temperature"] = *options.temperature;
    return body;
  }

  bool TakeEvent(const std::string& data, PartialAnswer& answer) const override {
    if (data == "[DONE]") {
      answer.complete = true;
      return true;
    }
    const json event = json::parse(data, nullptr, false);
    if (!event.is_object()) return false;
    if (const auto error = event.find("error"); error != event.end() && !error->is_null()) {
      answer.error = ReadServerError(data).message;
      answer.error_is_passing = true;
      return true;
    }
    return Take(event, "delta", answer);
  }

  bool TakeDocument(const std::string& body, PartialAnswer& answer) const override {
    const json document = json::parse(body, nullptr, false);
    if (!document.is_object() || !document.contains("choices")) return false;
    if (!Take(document, "message", answer)) return false;
    answer.complete = true;
    return true;
  }

 private:
  static bool Take(const json& event, const char* part, PartialAnswer& answer) {
    // The piece with the usage has no choices: an empty list, null or none, as servers like it.
    if (const auto choices = event.find("choices");
        choices != event.end() && choices->is_array() && !choices->empty()) {
      const json& choice = choices->front();
      if (!choice.is_object()) return false;
      if (const auto found = choice.find(part); found != choice.end() && found->is_object()) {
        answer.text += TextOf(*found);
      }
      if (const auto reason = choice.find("finish_reason");
          reason != choice.end() && reason->is_string()) {
        answer.stop_reason = ReasonOf(reason->get<std::string>());
      }
    }
    if (const auto usage = event.find("usage"); usage != event.end() && usage->is_object()) {
      const auto read = [&](const char* name, std::optional<int64_t>& into) {
        const auto found = usage->find(name);
        if (found != usage->end() && found->is_number_integer()) into = found->get<int64_t>();
      };
      read("prompt_tokens", answer.input_tokens);
      read("completion_tokens", answer.output_tokens);
    }
    return true;
  }
};

}  // namespace

const Dialect& OpenAiDialect() {
  static const OpenAi dialect;
  return dialect;
}

ServerError ReadServerError(const std::string& body) {
  const json document = json::parse(body, nullptr, false);
  if (!document.is_object()) return {};
  const auto error = document.find("error");
  if (error == document.end()) return {};
  if (error->is_string()) return {.message = error->get<std::string>()};  // Ollama
  if (!error->is_object()) return {};
  ServerError result;
  const auto text = [&](const char* name) {
    const auto found = error->find(name);
    return found != error->end() && found->is_string() ? found->get<std::string>() : "";
  };
  result.message = text("message");
  result.code = text("code");
  if (result.code.empty()) result.code = text("type");
  return result;
}

}  // namespace kernelsmith::llm
