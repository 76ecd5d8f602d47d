// Verifies a candidate: compiles it, traces its host code into a plan, runs the plan on a device
// with data that the candidate has never seen, and compares what comes out with the oracle.
#pragma once

#include <filesystem>
#include <string>

#include "compile/compile.h"
#include "device/device.h"
#include "plan/trace.h"
#include "support/clock.h"
#include "support/progress.h"
#include "support/result.h"
#include "tasks/task.h"
#include "verify/verdict.h"

namespace kernelsmith {

struct VerifyOptions {
  TaskDirection direction = TaskDirection::kForward;
  std::string dtype = "task";
  uint64_t seed = 0;          // of all data; secret from the candidate
  int draws = 2;              // data sets for each configuration
  size_t configurations = 6;  // at most; the quick ones first, then hidden ones
  int64_t work = 20'000'000;  // larger configurations are reduced to this many operations
  CompileOptions compile;
  TraceOptions trace;
};

// The outside world of a verification.
struct VerifyTools {
  TaskStore& tasks;
  CandidateCompiler& compiler;
  ProcessRunner& processes;
  Device& device;
  const Clock& clock;
  Progress& progress;
};

// An error means that the question could not be asked (no such task, a tool is missing); everything
// about the candidate is in the verdict.
Result<Verdict> Verify(const Task& task, const std::filesystem::path& candidate,
                       const VerifyOptions& options, const VerifyTools& tools);

}  // namespace kernelsmith
