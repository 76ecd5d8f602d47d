// A task's call with a candidate, ready to be run and measured: compiled, traced, with inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "plan/argument.h"
#include "plan/plan.h"
#include "plan/trace.h"
#include "support/result.h"
#include "tasks/task.h"

namespace kernelsmith {

struct MeasuredPlanRequest {
  std::string candidate;  // a .cu file
  TaskDirection direction = TaskDirection::kForward;
  std::string dtype = "task";
  std::string group = "timing";  // whose configuration
  std::string configuration;     // its name; empty: the first of the group
  uint64_t seed = 1;
};

// The call of a task at one shape, which any number of candidates can be measured with.
struct MeasuredCall {
  TaskConfiguration configuration;
  TaskGraph graph;
  std::vector<CallArgument> arguments;
  TraceOptions trace;
};

struct MeasuredPlan {
  CompiledCandidate candidate;
  std::shared_ptr<const MeasuredCall> call;
  Plan plan;
};

// Values for the tensors of a call: normally distributed floats. Times do not depend on them, so
// that PyTorch need not compute anything at the shapes that are timed. Tensors of integers are
// drawn by the task itself (they may be indices).
Result<std::vector<CallArgument>> MakeTimingArguments(TaskStore& store, const Task& task,
                                                      const TaskRequest& request,
                                                      const TaskGraph& graph, uint64_t seed);

// `request.candidate` is not looked at.
Result<std::shared_ptr<const MeasuredCall>> MakeMeasuredCall(const Task& task,
                                                             const MeasuredPlanRequest& request,
                                                             TaskStore& store);

Result<MeasuredPlan> MakeMeasuredPlan(const Task& task, const MeasuredPlanRequest& request,
                                      TaskStore& store, CandidateCompiler& compiler,
                                      ProcessRunner& processes);

}  // namespace kernelsmith
