// A shape that candidates are timed at, usually too large to be judged as smaller ones are: all of
// its work runs if that takes seconds, else some blocks, and what they write is compared with the
// task at these elements. Inside of src/verify only.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "verify/kernel_coverage.h"
#include "verify/verification.h"

namespace kernelsmith {

// What became of a timing shape.
struct TimedShape {
  bool judged = false;
  std::string why_not;                     // if it was not
  std::vector<std::string> fresh_kernels;  // that no judged shape runs, as people write them
  bool all_written = false;                // all blocks together write all elements
  uint64_t elements = 0;                   // that were compared
  KernelCoverage coverage;                 // the ways that what ran took
  std::shared_ptr<const TracedCall> call;  // null: there is no plan
};

// Traces the host code at the shape and judges what it does there. `known` are the kernels that ran
// at judged shapes; those that are judged here are added.
Result<TimedShape> JudgeTimedShape(Verification& verification, const TaskRequest& request,
                                   const TaskGraph& task, std::set<std::string>& known,
                                   StageResult& stage);

// Bytes of all tensors that a shape's call gets.
uint64_t ArgumentBytes(const TaskGraph& task);

}  // namespace kernelsmith
