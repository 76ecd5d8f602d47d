// A run of the candidate under all checkers. Inside of src/verify only.
#pragma once

#include "verify/verification.h"

namespace kernelsmith {

// Runs the plan of a shape on the draw that its host code saw, and adds what the checkers find.
Status CheckShape(Verification& verification, const TracedShape& traced, StageResult& stage);

}  // namespace kernelsmith
