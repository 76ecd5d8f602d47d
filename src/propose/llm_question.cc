#include "propose/llm_question.h"

#include <fmt/format.h>

#include "propose/llm_task.h"

namespace kernelsmith {

std::string Problem(llm::Extraction outcome, const std::string& function) {
  switch (outcome) {
    case llm::Extraction::kProse:
      return "the answer holds no CUDA file";
    case llm::Extraction::kCut:
      return "the file is not complete: it ends in the middle";
    case llm::Extraction::kWrongFunction:
      return fmt::format("the file does not define the function {}", function);
    default:
      return "";
  }
}

Result<FileAnswer> AskForFile(llm::LanguageModel& model, const llm::Prompts& prompts,
                              const llm::Conversation& conversation, const std::string& function,
                              const llm::AskOptions& options, int questions, AnswerCounts& counts) {
  FileAnswer result;
  llm::Conversation question = conversation;
  while (result.questions < questions) {
    Result<llm::Answer> answer = model.Ask(question, options);
    if (!answer.ok()) {
      if (result.questions == 0) return answer.error();
      break;
    }
    ++result.questions;
    result.tokens_in += answer->input_tokens;
    result.tokens_out += answer->output_tokens;
    result.cost += answer->cost.value_or(0);
    result.prompt = TextOf(question);
    result.answer = answer->text;
    result.extracted = llm::ExtractCuda(*answer, function);
    counts.Add(result.extracted.outcome);
    if (llm::HasCode(result.extracted.outcome)) break;
    question = conversation;
    // An empty answer can't be sent back: APIs refuse messages without text.
    if (answer->text.empty()) continue;
    question.push_back({llm::Role::kAssistant, answer->text});
    KS_TRY(const llm::Conversation again,
           prompts.Render("again", {{"problem", Problem(result.extracted.outcome, function)},
                                    {"function", function}}));
    question.insert(question.end(), again.begin(), again.end());
  }
  return result;
}

}  // namespace kernelsmith
