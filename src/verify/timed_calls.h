// Calls at the shapes that candidates are timed at, one after the other in one process: what the
// host code keeps of one (an attribute of a kernel, a workspace, a size) must do for the others.
// Inside of src/verify only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "verify/verification.h"

namespace kernelsmith {

// A shape whose plan was judged by itself.
struct JudgedCall {
  std::string shape;
  CandidateCall call;
  std::shared_ptr<const TracedCall> traced;  // it has a plan
};

// Small shapes first, then in the other direction. A launch that fails there refutes; other
// launches than those that were judged are named.
Status JudgeTimedCalls(Verification& verification, const std::vector<JudgedCall>& calls,
                       StageResult& stage);

// Whether `other` launches what `plan` does, with the same arguments, in memory that is as large:
// where it lies and whether it was there before does not matter.
bool SameWork(const Plan& plan, const Plan& other);

}  // namespace kernelsmith
