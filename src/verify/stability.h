// A kernel that is right on the task's inputs and wrong on harsh ones: does it round badly there,
// or does it compute something else?
#pragma once

#include "verify/verification.h"

namespace kernelsmith {

// True if the kernel's own rounding can't explain what it gives on `sample`: every operation was
// followed with the scale of its rounding error, all of them stayed finite, and a result is further
// off than that allows. False: rounding or overflow may explain it, or it can't be told.
Result<bool> ComputesSomethingElse(const Verification& verification, const TracedShape& subject,
                                   const Case& sample);

}  // namespace kernelsmith
