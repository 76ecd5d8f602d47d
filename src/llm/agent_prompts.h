// The questions that agents ask, from what they know to a conversation: which values the templates
// translate.md, repair.md and optimise.md get.
#pragma once

#include <string>
#include <vector>

#include "llm/prompts.h"

namespace kernelsmith::llm {

// What is to be written.
struct KernelTask {
  std::string name;
  std::string direction = "forward";  // or "backward"
  std::string reference;              // PyTorch source
  std::string function = "forward";   // the function that the file must define
  std::string signature;              // its arguments and results in words, one a line
  std::string dtype;
};

Result<Conversation> TranslatePrompt(const Prompts& prompts, const KernelTask& task);

// One thing that the compiler or the verifier has against a candidate.
struct Complaint {
  std::string source;  // "compiler", or the stage of the verifier
  int line = 0;        // 0: no line
  std::string message;
};

// `counterexample` may be empty: the input on which it goes wrong, as the verifier words it.
Result<Conversation> RepairPrompt(const Prompts& prompts, const KernelTask& task,
                                  const std::string& code, const std::vector<Complaint>& complaints,
                                  const std::string& counterexample);

struct Parent {
  std::string code;
  double microseconds = 0;
  std::string measure;  // "estimated for H100", "measured on ..."
  std::string limiter;  // what limits it, in words
};

// Parents come in any order and are shown slow to fast, so that the last words before the question
// are the best there is. `limits`: of the GPU, in words. `failures`: what became of earlier
// attempts, one line each.
Result<Conversation> OptimisePrompt(const Prompts& prompts, const KernelTask& task,
                                    std::vector<Parent> parents,
                                    const std::vector<std::string>& hints,
                                    const std::vector<std::string>& limits,
                                    const std::vector<std::string>& failures);

}  // namespace kernelsmith::llm
