// Do two candidates compute the same? The proof of verify between two kernels, without PyTorch: the
// old one is the reference.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "candidate/candidate.h"
#include "device/observable_device.h"
#include "plan/argument.h"
#include "support/clock.h"
#include "tasks/task.h"
#include "verify/verdict.h"

namespace kernelsmith {

struct CompareOptions {
  std::string function = "forward";
  uint64_t seed = 0;
  bool keep_values = false;   // the tensors of the arguments hold data already
  int64_t work = 20'000'000;  // the most work of a shape: larger ones are reduced to this
};

struct CompareTools {
  ObservableDevice& device;
  const Clock& clock;
};

// "x=float32[32,256]" is a tensor, "eps=1e-5" a float, "k=4" an integer, "flag=true" a boolean.
// Tensors are filled later: floats with normal numbers, integers with 0 and 1.
Result<CallArgument> ParseCallArgument(std::string_view text);

// kVerified: equal as algebra on every element, and as numbers on every draw. kInconclusive: equal
// as numbers only, or different below what rounding explains.
Result<Verdict> CompareCandidates(Candidate& old_candidate, Candidate& new_candidate,
                                  const std::vector<CallArgument>& arguments,
                                  const CompareOptions& options, const CompareTools& tools);

// The same on every shape of a task that is not for timing, with the task's data. PyTorch draws
// them; it does not judge.
Result<Verdict> CompareOnTask(Candidate& old_candidate, Candidate& new_candidate, const Task& task,
                              TaskDirection direction, const std::string& dtype,
                              const CompareOptions& options, const CompareTools& tools,
                              TaskStore& tasks);

}  // namespace kernelsmith
