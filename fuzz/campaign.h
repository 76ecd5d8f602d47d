// A fuzzing run. Kernels run in a child process, so that compiled code which crashes or hangs is a
// finding like any other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "differential.h"
#include "program.h"
#include "support/result.h"

namespace kernelsmith::fuzz {

struct CampaignOptions {
  uint64_t seed = 1;
  double seconds = 60;
  uint64_t kernels = ~uint64_t{0};  // the most kernels to make
  int shapes = 2;                   // block shapes of each kernel
  uint64_t most_findings = 10;
  std::optional<Breakage> breakage;
  bool quiet = false;
};

struct Finding {
  Program program;  // as small as it gets
  std::string difference;
};

struct CampaignResult {
  uint64_t kernels = 0;
  uint64_t launches = 0;
  uint64_t compiled = 0;  // launches that ran as compiled code
  uint64_t faulted = 0;
  uint64_t sliced = 0;
  uint64_t lane_instructions = 0;  // lane instructions of the interpreter
  double compile_ms = 0;
  double seconds = 0;
  double processor_seconds = 0;
  uint64_t next_seed = 0;
  std::vector<Finding> findings;
};

// Ctrl-C ends it early, with the result so far. An error: the generator wrote something that is not
// valid.
Result<CampaignResult> RunCampaign(const CampaignOptions& options);

// One program, in a child process. Empty: no difference.
std::string DifferenceOf(const Program& program, const std::optional<Breakage>& breakage);

// A text test (docs/testing.md) that shows the difference.
std::string Reproducer(const Finding& finding);

}  // namespace kernelsmith::fuzz
