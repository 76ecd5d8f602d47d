#include "verify/host_at_size.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tensor/tensor.h"
#include "verify/arguments.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

CaseTensors Blank(const TaskGraph& graph) {
  CaseTensors blank;
  for (const TensorSpec& spec : graph.tensors) {
    const auto dtype = ParseDType(spec.dtype);
    if (!dtype) continue;
    blank.values[spec.name] = HostTensor{.dtype = *dtype, .shape = spec.shape, .bytes = {}};
  }
  return blank;
}

}  // namespace

Status JudgeHostAt(Verification& verification, const TaskRequest& request, const TaskGraph& graph,
                   const std::set<std::string>& judged) {
  const std::string& shape = request.configuration.name;
  KS_TRY(const std::vector<CallArgument> arguments, MakeCallArguments(graph, Blank(graph)));
  KS_TRY(const Graph operators, ReadGraph(graph.file));
  TraceOptions trace = verification.options.trace;
  trace.function = request.direction == TaskDirection::kForward ? "forward" : "backward";
  trace.results = ResultsOf(operators);
  KS_TRY(const TraceOutcome traced,
         Trace(verification.compiled, arguments, trace, verification.tools.processes));
  for (const HostFinding& finding : traced.findings) {
    const bool fails = Refutes(finding.kind) || finding.kind == FindingKind::kFailedLaunch;
    // What zeros instead of data do to host code is not the candidate's fault.
    const bool by_data = finding.kind == FindingKind::kDataDependent ||
                         finding.kind == FindingKind::kHostComputed ||
                         finding.kind == FindingKind::kTimeout;
    if (!fails || by_data || finding.out_of_memory) continue;
    verification.Add(VerdictKind::kRefuted,
                     {.kind = finding.kind == FindingKind::kFailedLaunch ? FindingKind::kLaunchError
                                                                         : finding.kind,
                      .message = fmt::format("at the timing shape {}: {}", shape, finding.message),
                      .where = finding.where});
    return {};
  }
  if (!traced.plan) return {};
  if (traced.plan->steps.empty() && !verification.subjects[0]->plan.steps.empty()) {
    verification.Add(VerdictKind::kRefuted,
                     {.kind = FindingKind::kUnwritten,
                      .message = fmt::format("at the timing shape {} nothing runs at all", shape)});
    return {};
  }
  const std::vector<std::string> fresh = NewKernels(*traced.plan, judged);
  if (fresh.empty()) return {};
  verification.Add(VerdictKind::kInconclusive,
                   {.kind = FindingKind::kNotJudged,
                    .message = fmt::format("kernel {} runs at the timing shape {} only, which is "
                                           "too large to be judged",
                                           fmt::join(fresh, ", "), shape)});
  return {};
}

}  // namespace kernelsmith
