// A shape that candidates are timed at and that is too large to be judged as a whole: some blocks
// run, or all of them if that is cheap, and single elements of what they write are compared with
// the task's graph, evaluated at these alone. Inside of src/verify only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "verify/verification.h"

namespace kernelsmith {

// What became of a timing shape.
struct SampledShape {
  bool judged = false;
  std::string why_not;                     // if it was not
  std::vector<std::string> fresh_kernels;  // that no judged shape runs, as people write them
  bool all_written = false;                // the blocks that did not run as a whole write the rest
  uint64_t elements = 0;                   // that were compared
};

// Traces the host code at the shape and judges what it does there. `known` are the kernels that ran
// at judged shapes; those that are judged here are added.
Result<SampledShape> JudgeSampledShape(Verification& verification, const TaskRequest& request,
                                       const TaskGraph& task, std::set<std::string>& known,
                                       StageResult& stage);

// Bytes of all tensors that a shape's call gets.
uint64_t ArgumentBytes(const TaskGraph& task);

}  // namespace kernelsmith
