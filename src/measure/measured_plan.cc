#include "measure/measured_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "graph/graph.h"
#include "support/rng.h"
#include "tasks/configurations.h"
#include "tensor/dtype.h"

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

}  // namespace

Result<CaseTensors> MakeTimingValues(TaskStore& store, const Task& task, const TaskRequest& request,
                                     const TaskGraph& graph, uint64_t seed) {
  CaseTensors values;
  uint64_t stream = 0;
  for (const TensorSpec& spec : graph.tensors) {
    const std::optional<DType> dtype = ParseDType(spec.dtype);
    if (!dtype || !IsFloat(*dtype)) {
      KS_TRY(const TaskCase sample, store.Evaluate(task, request, seed));
      return ReadCase(sample);
    }
    values.values[spec.name] = RandomTensor(spec, *dtype, Rng(seed).Fork(stream++));
  }
  return values;
}

Result<std::shared_ptr<const MeasuredCall>> MakeMeasuredCall(const Task& task,
                                                             const MeasuredCallRequest& request,
                                                             TaskStore& store) {
  auto call = std::make_shared<MeasuredCall>();
  KS_TRY(call->configuration,
         FindConfiguration(task, request.direction, request.group, request.configuration));
  const TaskRequest wanted{
      .direction = request.direction, .configuration = call->configuration, .dtype = request.dtype};
  KS_TRY(call->graph, store.Export(task, wanted));
  KS_TRY(const Graph graph, ReadGraph(call->graph.file));
  KS_TRY(const CaseTensors values,
         MakeTimingValues(store, task, wanted, call->graph, request.seed));
  KS_TRY(call->call, MakeCall(request.direction, call->graph, graph, values));
  return std::shared_ptr<const MeasuredCall>(std::move(call));
}

Result<MeasuredPlan> MakeMeasuredPlan(std::shared_ptr<Candidate> candidate,
                                      std::shared_ptr<const MeasuredCall> call) {
  KS_RETURN_IF_ERROR(candidate->CompileOrFail());
  MeasuredPlan plan{.candidate = candidate, .measured = std::move(call)};
  KS_TRY(plan.traced, candidate->Trace(plan.measured->call));
  if (!plan.traced->plan) {
    const CandidateProblem& why = plan.traced->problems.front();
    return InvalidInput(fmt::format("{} has no plan: {}: {}", candidate->path().string(),
                                    Name(why.kind), why.message));
  }
  return plan;
}

}  // namespace kernelsmith
