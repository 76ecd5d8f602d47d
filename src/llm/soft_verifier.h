// A language model's opinion of a candidate: three questions (compile, memory, numerics), each with
// its own prompt and one round of reflection. It is soft: a filter before the exact verification,
// never a verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llm/prompts.h"

namespace kernelsmith::llm {

struct SoftTask {
  std::string name;
  std::string direction = "forward";
  std::string reference;  // PyTorch source
};

struct SoftOpinion {
  std::string aspect;           // compile, memory, numerics
  std::optional<double> score;  // probability that it is right; empty: no valid judgement came
  std::string reason;           // the model's, or why there is no score
};

struct SoftVerdict {
  std::vector<SoftOpinion> opinions;
  // The smallest of the three: a candidate is as right as its worst side, and the sides are not
  // independent, so that a product would say too little. Empty if any score is missing.
  std::optional<double> score;
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;
  std::optional<double> cost;
};

struct SoftOptions {
  bool reflect = true;
  AskOptions ask;
};

// An error comes from the model's server or budget; an answer that is no judgement is an opinion
// without score.
Result<SoftVerdict> AskSoftVerifiers(LanguageModel& model, const Prompts& prompts,
                                     const SoftTask& task, const std::string& code,
                                     const SoftOptions& options);

// {"verdict": "right"|"wrong", "score": 0..1, "reason": "..."}, alone or in one fenced block; no
// other members, and verdict and score must agree.
Result<SoftOpinion> ParseOpinion(const std::string& aspect, const std::string& text);

}  // namespace kernelsmith::llm
