#include "verify/host_at_size.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "verify/stages.h"

namespace kernelsmith {

Status JudgeHostAt(Verification& verification, const TaskRequest& request, const TaskGraph& task,
                   const std::set<std::string>& judged, StageResult& stage) {
  const std::string& shape = request.configuration.name;
  KS_TRY(const Graph graph, ReadGraph(task.file));
  KS_TRY(const CandidateCall call, MakeBlankCall(request.direction, task, graph));
  KS_TRY(const std::shared_ptr<const TracedCall> traced, verification.candidate.Trace(call));
  // A launch that failed matters here even if the host code has cleared the error: nobody looks at
  // the results.
  const CandidateProblem* problem =
      traced->cleared_launch ? &*traced->cleared_launch : traced->Refuting();
  if (problem != nullptr) {
    stage.Add(VerdictKind::kRefuted,
              {.kind = traced->cleared_launch ? FindingKind::kLaunchError : problem->kind,
               .message = fmt::format("at the timing shape {}: {}", shape, problem->message),
               .where = problem->where});
    return {};
  }
  if (!traced->plan) return {};
  if (traced->plan->steps.empty() && !verification.shapes[0]->plan().steps.empty()) {
    stage.Add(VerdictKind::kRefuted,
              {.kind = FindingKind::kUnwritten,
               .message = fmt::format("at the timing shape {} nothing runs at all", shape)});
    return {};
  }
  const std::vector<std::string> fresh = NewKernels(*traced->plan, judged);
  if (fresh.empty()) return {};
  stage.Add(VerdictKind::kInconclusive,
            {.kind = FindingKind::kNotJudged,
             .message = fmt::format("kernel {} runs at the timing shape {} only, which is "
                                    "too large to be judged",
                                    fmt::join(fresh, ", "), shape)});
  return {};
}

}  // namespace kernelsmith
