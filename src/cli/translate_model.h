// `kernelsmith translate --model`: a language model translates, the verifier judges.
#pragma once

#include <string>

#include "cli/model_options.h"
#include "tasks/task.h"

namespace kernelsmith {

struct ModelTranslation {
  std::string task;
  TaskDirection direction = TaskDirection::kForward;
  std::string dtype = "task";
  std::string out;          // folder; empty: TASK_cuda
  std::string archive;      // file that keeps every attempt; empty: none
  int rounds = 6;           // files that are judged
  bool final_build = true;  // the verified one with PyTorch's headers, too
  ModelFlags flags;
};

// Writes DIR/forward.cu and module.py if the result is verified, otherwise
// DIR/forward.not_verified.cu: what is not verified never has the name of something that is.
Result<ExitCode> TranslateByModel(Session& session, const ModelTranslation& request);

}  // namespace kernelsmith
