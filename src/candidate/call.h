// A call of a candidate's function: what it gets and what it must give back.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/argument.h"
#include "plan/plan.h"
#include "support/result.h"
#include "tasks/task.h"

namespace kernelsmith {

struct CandidateCall {
  std::string function = "forward";
  // By position, exactly as the candidate gets them. The host code may look at the data: they are
  // values of the task's distribution, or blank where data would be too much.
  std::vector<CallArgument> arguments;
  // Shapes and dtypes of the results, for launchers that write into given outputs.
  std::vector<PlanTensor> results;
  bool other_stream = false;  // another stream than the default one is current

  // What the plan of the call is a function of: everything but the values of tensors. Two calls
  // with the same identity have the same plan, or the host code looks at data, which tracing finds.
  std::string Identity() const;
  // Whether a tensor has a shape and no data. Tracing such a call tells nothing of what depends on
  // data.
  bool HasBlankTensors() const;
};

// The arguments of a task's call. kUnsupported: a kind of argument that no CUDA function can take.
Result<std::vector<CallArgument>> MakeCallArguments(const TaskGraph& task, const TensorMap& values);
Result<std::vector<CallArgument>> MakeCallArguments(const TaskGraph& task,
                                                    const CaseTensors& values);

// A task's call with these values. `graph` is the task's.
Result<CandidateCall> MakeCall(TaskDirection direction, const TaskGraph& task, const Graph& graph,
                               const CaseTensors& values);

// The same at a size at which data would be too much: every tensor is blank.
Result<CandidateCall> MakeBlankCall(TaskDirection direction, const TaskGraph& task,
                                    const Graph& graph);

}  // namespace kernelsmith
