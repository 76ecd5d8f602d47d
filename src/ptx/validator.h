// Instructions against the table of the ISA: operand counts, kinds, types, state spaces, targets of
// branches and calls, and what .target and .version must be for them.
#pragma once

#include "ptx/reporter.h"
#include "ptx/syntax.h"

namespace kernelsmith::ptx {

// Names must have been resolved without error.
void Validate(const Module& module, Reporter* reporter);

}  // namespace kernelsmith::ptx
