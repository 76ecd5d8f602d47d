#include "measure/measured_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "graph/graph.h"
#include "plan/trace.h"
#include "support/rng.h"
#include "tasks/configurations.h"
#include "tensor/dtype.h"
#include "verify/arguments.h"

namespace kernelsmith {

namespace {

// Random numbers repeat after so many: drawing each of a hundred million would cost seconds.
constexpr size_t kDistinctValues = 1 << 16;

HostTensor RandomTensor(const TensorSpec& spec, DType dtype, Rng rng) {
  HostTensor tensor = MakeHostTensor(dtype, spec.shape);
  const auto count = static_cast<size_t>(tensor.count());
  const auto bytes = static_cast<size_t>(SizeOf(dtype));
  const size_t drawn = std::min(count, kDistinctValues);
  for (size_t i = 0; i < drawn; ++i) {
    tensor.set(static_cast<int64_t>(i), rng.Normal());
  }
  for (size_t at = drawn; at < count; at += drawn) {
    std::memcpy(tensor.bytes.data() + at * bytes, tensor.bytes.data(),
                std::min(drawn, count - at) * bytes);
  }
  return tensor;
}

// What the call returns, for candidates that write into given outputs.
Result<std::vector<PlanTensor>> ResultTensors(const TaskGraph& task) {
  KS_TRY(const Graph graph, ReadGraph(task.file));
  std::vector<PlanTensor> results;
  for (const std::string& name : task.results) {
    for (const GraphOutput& output : graph.outputs) {
      if (graph.OutputName(output) != name) continue;
      const TensorMeta& meta = graph.meta(output.value);
      results.push_back({.dtype = meta.dtype, .shape = meta.shape, .strides = meta.strides});
      break;
    }
  }
  return results;
}

}  // namespace

Result<std::vector<CallArgument>> MakeTimingArguments(TaskStore& store, const Task& task,
                                                      const TaskRequest& request,
                                                      const TaskGraph& graph, uint64_t seed) {
  CaseTensors values;
  uint64_t stream = 0;
  for (const TensorSpec& spec : graph.tensors) {
    const std::optional<DType> dtype = ParseDType(spec.dtype);
    if (!dtype || !IsFloat(*dtype)) {
      KS_TRY(const TaskCase sample, store.Evaluate(task, request, seed));
      KS_TRY(values, ReadCase(sample));
      return MakeCallArguments(graph, values);
    }
    values.values[spec.name] = RandomTensor(spec, *dtype, Rng(seed).Fork(stream++));
  }
  return MakeCallArguments(graph, values);
}

Result<std::shared_ptr<const MeasuredCall>> MakeMeasuredCall(const Task& task,
                                                             const MeasuredPlanRequest& request,
                                                             TaskStore& store) {
  auto call = std::make_shared<MeasuredCall>();
  KS_TRY(call->configuration,
         FindConfiguration(task, request.direction, request.group, request.configuration));
  const TaskRequest wanted{
      .direction = request.direction, .configuration = call->configuration, .dtype = request.dtype};
  KS_TRY(call->graph, store.Export(task, wanted));
  KS_TRY(call->arguments, MakeTimingArguments(store, task, wanted, call->graph, request.seed));
  call->trace.function = request.direction == TaskDirection::kBackward ? "backward" : "forward";
  KS_TRY(call->trace.results, ResultTensors(call->graph));
  return std::shared_ptr<const MeasuredCall>(std::move(call));
}

Result<MeasuredPlan> MakeMeasuredPlan(const Task& task, const MeasuredPlanRequest& request,
                                      TaskStore& store, CandidateCompiler& compiler,
                                      ProcessRunner& processes) {
  MeasuredPlan subject;
  KS_TRY(subject.candidate, compiler.Compile(request.candidate, {}));
  KS_TRY(subject.call, MakeMeasuredCall(task, request, store));
  KS_TRY(TraceOutcome outcome,
         Trace(subject.candidate, subject.call->arguments, subject.call->trace, processes));
  if (!outcome.plan) {
    const HostFinding& why = outcome.findings.front();
    return InvalidInput(
        fmt::format("{} has no plan: {}: {}", request.candidate, Name(why.kind), why.message));
  }
  subject.plan = *std::move(outcome.plan);
  return subject;
}

}  // namespace kernelsmith
