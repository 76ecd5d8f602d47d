#include "llm/soft_verifier.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kernelsmith::llm {
namespace {

using nlohmann::json;

std::string WithoutFence(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const size_t last = text.find_last_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  const std::string trimmed = text.substr(first, last - first + 1);
  const size_t line = trimmed.find('\n');
  if (!trimmed.starts_with("```") || !trimmed.ends_with("```") || line == std::string::npos) {
    return trimmed;
  }
  const std::string language = trimmed.substr(3, line - 3);
  if (language.find_first_not_of("jsonJSON \r") != std::string::npos) return trimmed;
  return trimmed.substr(line + 1, trimmed.size() - line - 4);
}

}  // namespace

Result<SoftOpinion> ParseOpinion(const std::string& aspect, const std::string& text) {
  const json document = json::parse(WithoutFence(text), nullptr, false);
  if (!document.is_object()) return InvalidInput("the judgement is no JSON object");
  const auto verdict = document.find("verdict");
  const auto score = document.find("score");
  const auto reason = document.find("reason");
  if (document.size() != 3 || verdict == document.end() || score == document.end() ||
      reason == document.end()) {
    return InvalidInput("the judgement must have the members verdict, score and reason only");
  }
  if (!verdict->is_string() || (*verdict != "right" && *verdict != "wrong")) {
    return InvalidInput("the judgement's verdict must be right or wrong");
  }
  if (!score->is_number() || !(score->get<double>() >= 0 && score->get<double>() <= 1)) {
    return InvalidInput("the judgement's score must be a number from 0 to 1");
  }
  if (!reason->is_string()) return InvalidInput("the judgement's reason must be a text");
  if ((*verdict == "right") != (score->get<double>() >= 0.5)) {
    return InvalidInput("the judgement's verdict and score contradict each other");
  }
  return SoftOpinion{aspect, score->get<double>(), reason->get<std::string>()};
}

Result<SoftVerdict> AskSoftVerifiers(LanguageModel& model, const Prompts& prompts,
                                     const SoftTask& task, const std::string& code,
                                     const SoftOptions& options) {
  SoftVerdict verdict;
  const auto ask = [&](const Conversation& conversation) -> Result<Answer> {
    KS_TRY(Answer answer, model.Ask(conversation, options.ask));
    verdict.input_tokens += answer.input_tokens;
    verdict.output_tokens += answer.output_tokens;
    if (answer.cost) verdict.cost = verdict.cost.value_or(0) + *answer.cost;
    return answer;
  };
  for (const std::string aspect : {"compile", "memory", "numerics"}) {
    KS_TRY(Conversation conversation,
           prompts.Render("verify_" + aspect, {{"task", task.name},
                                               {"direction", task.direction},
                                               {"reference", task.reference},
                                               {"code", code}}));
    KS_TRY(Answer answer, ask(conversation));
    // An empty answer can't be sent back: APIs refuse messages without text.
    if (options.reflect && !answer.text.empty()) {
      conversation.push_back({Role::kAssistant, answer.text});
      KS_TRY(const Conversation reflection, prompts.Render("reflect", {}));
      conversation.insert(conversation.end(), reflection.begin(), reflection.end());
      KS_TRY(answer, ask(conversation));
    }
    const Result<SoftOpinion> opinion = ParseOpinion(aspect, answer.text);
    verdict.opinions.push_back(
        opinion.ok() ? *opinion : SoftOpinion{aspect, std::nullopt, opinion.error().message()});
  }
  double score = 1;
  for (const SoftOpinion& each : verdict.opinions) {
    if (!each.score) return verdict;
    score = std::min(score, *each.score);
  }
  verdict.score = score;
  return verdict;
}

}  // namespace kernelsmith::llm
