// A report of `kernelsmith verify --json` as the input of `--replay`.
#pragma once

#include <string>
#include <string_view>

#include "support/result.h"
#include "verify/verdict.h"

namespace kernelsmith {

struct ReplayFile {
  std::string task;
  std::string direction;
  std::string dtype;
  std::string mode;
  std::string gpu;
  std::string candidate;
  std::string candidate_hash;
  Counterexample example;
};

// The first counterexample of the report. `file` is the name for messages.
Result<ReplayFile> ParseReplay(std::string_view text, const std::string& file);

}  // namespace kernelsmith
