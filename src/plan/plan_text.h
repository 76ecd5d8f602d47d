// Plans as text that people read and programs compare: one line a buffer, step and output.
//
//   plan 1
//   buffer 0 input 3600 argument 0 name "x"
//   buffer 1 workspace 3600
//   launch "_Z4copyPKfPfi" grid 4,1,1 block 256,1,1 parameters 000...84030000 pointers 0=0+0 8=1+0
//   output float32 [30,30] strides [30,1] at 1+0
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"
#include "support/result.h"

namespace kernelsmith {

std::string FormatPlan(const Plan& plan);

// What FormatPlan writes; errors name the line. The plan still has to be validated.
Result<Plan> ParsePlan(std::string_view text, const std::string& file);

}  // namespace kernelsmith
