// Judging calls that come after others, whose traces may show in them. Inside of src/verify only.
#pragma once

#include <string>

#include "plan/merge.h"
#include "verify/verification.h"

namespace kernelsmith {

struct LaterCall {
  CallPlan plan;     // the calls before it are its preparation
  std::string when;  // "after earlier calls with other data": how a finding begins
  FindingKind kind = FindingKind::kStaleResult;  // of what is wrong about it
};

// Runs the call on the sample after its preparation on other data. What is wrong without the
// preparation, too, is nothing that this finds. What is right as long as weights stay is a note.
Status JudgeLaterCall(Verification& verification, const TracedShape& traced, const LaterCall& call,
                      const Case& sample, StageResult& stage);

}  // namespace kernelsmith
