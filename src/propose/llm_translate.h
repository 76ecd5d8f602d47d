// The agent that translates with a model: what the compiler and the verifier find goes back to it
// until a candidate is verified or the budget is used up. What the model says is a file to judge
// and nothing else.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "llm/agent_prompts.h"
#include "propose/llm_question.h"
#include "verify/verdict.h"

namespace kernelsmith {

struct TranslateAgentOptions {
  int attempts = 6;   // files that are judged
  int questions = 2;  // questions for one file, where an answer holds none
  llm::AskOptions ask;
};

// One file, or one failure to get one.
struct TranslateAttempt {
  FileAnswer answer;
  std::string source;              // empty: none came
  std::optional<Verdict> verdict;  // none without a source
  std::string verdict_word() const { return verdict ? Name(verdict->kind) : "none"; }
};

struct TranslateAgentReport {
  std::vector<TranslateAttempt> attempts;
  // The one to hand over: the verified one, or the one that came furthest. -1: no file came.
  int best = -1;
  std::string ended_by;  // verified, attempts, or the words of an error (budget, server)
  llm::ExtractionTally answers;
  int64_t tokens_in = 0;
  int64_t tokens_out = 0;
  double cost = 0;

  bool verified() const {
    return best >= 0 && attempts[static_cast<size_t>(best)].verdict->kind == VerdictKind::kVerified;
  }
};

// An error of the judge is about the question, not the candidate (a tool is missing), and ends it.
using JudgeSource = std::function<Result<Verdict>(const std::string& source)>;

// An error: not even the first question was answered, or the judge failed. `watch` hears of each
// attempt when it is judged.
Result<TranslateAgentReport> TranslateWithModel(
    llm::LanguageModel& model, const llm::Prompts& prompts, const llm::KernelTask& task,
    const JudgeSource& judge, const TranslateAgentOptions& options,
    const std::function<void(const TranslateAttempt&)>& watch = {});

}  // namespace kernelsmith
