// From a task's values to the arguments of a candidate's function.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "plan/argument.h"
#include "plan/plan.h"
#include "support/result.h"
#include "tasks/task.h"

namespace kernelsmith {

// The arguments by position, exactly as the candidate gets them. kUnsupported: a kind of argument
// that no CUDA function can take.
Result<std::vector<CallArgument>> MakeCallArguments(const TaskGraph& graph,
                                                    const CaseTensors& values);

// What the candidate must give back, for launchers that write into given outputs.
std::vector<PlanTensor> ResultsOf(const Graph& graph);

}  // namespace kernelsmith
