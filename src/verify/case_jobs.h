// Cases that can be judged at the same time. Inside of src/verify only.
#pragma once

#include <optional>
#include <vector>

#include "verify/verification.h"

namespace kernelsmith {

struct CaseJob {
  TracedShape* traced = nullptr;
  Case sample;
  std::optional<Result<CaseOutcome>> outcome;  // none: it was not begun
};

// On both cores; jobs behind one that failed are begun only if `all`.
void RunJobs(const Verification& verification, std::vector<CaseJob>& jobs, bool all = false);

}  // namespace kernelsmith
