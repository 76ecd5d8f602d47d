// Plans in which a call comes after others like it. Inside of src/verify only.
#pragma once

#include "plan/plan.h"

namespace kernelsmith {

// The plan after `calls` calls of the same: variables of the module and prepared memory keep what
// those left; memory that a call allocates for itself is another each time.
Plan AfterCalls(const Plan& plan, int calls);

}  // namespace kernelsmith
