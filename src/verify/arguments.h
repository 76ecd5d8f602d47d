// From a task's values to the arguments of a candidate's function.
#pragma once

#include <vector>

#include "plan/argument.h"
#include "support/result.h"
#include "tasks/task.h"

namespace kernelsmith {

// The arguments by position, exactly as the candidate gets them. kUnsupported: a kind of argument
// that no CUDA function can take.
Result<std::vector<CallArgument>> MakeCallArguments(const TaskGraph& graph,
                                                    const CaseTensors& values);

}  // namespace kernelsmith
