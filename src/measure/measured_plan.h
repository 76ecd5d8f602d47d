// A task's call with a candidate, ready to be run and measured: compiled, traced, with inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "candidate/candidate.h"
#include "support/result.h"
#include "tasks/task.h"

namespace kernelsmith {

struct MeasuredCallRequest {
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
  CandidateCall call;
};

struct MeasuredPlan {
  std::shared_ptr<Candidate> candidate;
  std::shared_ptr<const MeasuredCall> measured;
  std::shared_ptr<const TracedCall> traced;  // it has a plan

  const Plan& plan() const { return *traced->plan; }
};

// Values for the tensors of a call: normally distributed floats. Times do not depend on them, so
// that PyTorch need not compute anything at the shapes that are timed. Tensors of integers are
// drawn by the task itself (they may be indices).
Result<CaseTensors> MakeTimingValues(TaskStore& store, const Task& task, const TaskRequest& request,
                                     const TaskGraph& graph, uint64_t seed);

Result<std::shared_ptr<const MeasuredCall>> MakeMeasuredCall(const Task& task,
                                                             const MeasuredCallRequest& request,
                                                             TaskStore& store);

// An error says why the candidate has no plan for the call.
Result<MeasuredPlan> MakeMeasuredPlan(std::shared_ptr<Candidate> candidate,
                                      std::shared_ptr<const MeasuredCall> call);

}  // namespace kernelsmith
