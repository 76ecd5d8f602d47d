// One request for a CUDA file: asks again where the answer holds none.
#pragma once

#include <mutex>
#include <string>

#include "llm/extract.h"
#include "llm/prompts.h"

namespace kernelsmith {

struct FileAnswer {
  llm::ExtractedCode extracted;  // the code of the last answer
  std::string prompt;            // the last question, as one text
  std::string answer;
  int questions = 0;
  int64_t tokens_in = 0;  // tokens of all questions
  int64_t tokens_out = 0;
  double cost = 0;  // as far as prices are known
};

// How often each kind of answer came; several threads may count.
class AnswerCounts {
 public:
  void Add(llm::Extraction outcome) {
    const std::lock_guard lock(mutex_);
    tally_.Add(outcome);
  }
  llm::ExtractionTally tally() const {
    const std::lock_guard lock(mutex_);
    return tally_;
  }

 private:
  mutable std::mutex mutex_;
  llm::ExtractionTally tally_;
};

// Asks at most `questions` times, until a file comes that defines `function`. An error comes from
// the model's server or budget, and only for the first question: what was paid for is not thrown
// away.
Result<FileAnswer> AskForFile(llm::LanguageModel& model, const llm::Prompts& prompts,
                              const llm::Conversation& conversation, const std::string& function,
                              const llm::AskOptions& options, int questions, AnswerCounts& counts);

// Why there is no file, in words.
std::string Problem(llm::Extraction outcome, const std::string& function);

}  // namespace kernelsmith
