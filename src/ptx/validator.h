// Instructions against the table of the ISA: operand counts, kinds, types, state spaces, targets of
// branches and calls, and what .target and .version must be for them.
#pragma once

#include "ptx/ptx.h"
#include "ptx/reporter.h"
#include "ptx/syntax.h"

namespace kernelsmith::ptx {

// Names must have been resolved without error. `refusal` may be null.
void Validate(const Module& module, Reporter* reporter, InstructionRefusal* refusal = nullptr);

}  // namespace kernelsmith::ptx
