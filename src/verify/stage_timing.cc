// The shapes that candidates are timed at, every one: no time is worth anything at a shape at which
// nobody has looked.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "verify/stages.h"
#include "verify/timed_calls.h"
#include "verify/timed_shape.h"

namespace kernelsmith {
namespace {

// Operations of a shape that stands in for timing shapes of which none could be judged: grids of
// kernels whose threads take several turns are full there.
constexpr int64_t kReducedWork = 64'000'000;

// The shapes that a candidate is timed at.
std::vector<TaskRequest> TimingRequests(const Verification& verification) {
  std::vector<TaskRequest> requests;
  const auto& all = verification.task.Configurations(verification.options.direction);
  // A task without timing shapes is timed as it is. If that was too large to be judged, a smaller
  // shape was, and larger ones may go ways that it does not.
  const bool without =
      std::none_of(all.begin(), all.end(), [](const auto& each) { return each.group == "timing"; });
  const bool reduced_first =
      verification.shapes[0]->request.configuration.values != all.front().values;
  for (const TaskConfiguration& each : all) {
    if (each.group != "timing" && !(without && reduced_first && requests.empty())) continue;
    requests.push_back({.direction = verification.options.direction,
                        .configuration = each,
                        .dtype = verification.options.dtype});
  }
  return requests;
}

class Timing {
 public:
  explicit Timing(Verification& verification) : verification_(verification) {
    for (const auto& each : verification.shapes) {
      if (each != nullptr) known_.merge(KernelsOf(each->plan()));
    }
  }

  Result<StageResult> Run() {
    const std::vector<TaskRequest> requests = TimingRequests(verification_);
    if (requests.empty()) return StageResult::Skipped("no timing shapes");
    for (const TaskRequest& request : requests) {
      KS_RETURN_IF_ERROR(Judge(request));
      if (stage_.Ended()) return std::move(stage_);
    }
    if (judged_ == 0) KS_RETURN_IF_ERROR(JudgeStandIn(requests.front()));
    if (!stage_.Ended()) KS_RETURN_IF_ERROR(JudgeTimedCalls(verification_, calls_, stage_));
    if (stage_.Ended()) return std::move(stage_);
    if (!not_judged_.empty()) {
      stage_.Note({.kind = FindingKind::kShapesNotJudged,
                   .message = fmt::format("nothing was run at the timing shapes {}",
                                          fmt::join(not_judged_, ", "))});
    }
    return std::move(stage_);
  }

 private:
  Status Judge(const TaskRequest& request) {
    const std::string& name = request.configuration.name;
    const Result<TaskGraph> graph = verification_.tools.tasks.Export(verification_.task, request);
    if (!graph.ok()) {
      not_judged_.push_back(name + " (PyTorch can't export it)");
      return {};
    }
    KS_TRY(TimedShape shape, JudgeTimedShape(verification_, request, *graph, known_, stage_));
    if (stage_.Ended()) return {};
    verification_.timed.push_back({request, std::move(shape.coverage)});
    if (shape.call != nullptr) {
      KS_TRY(const Graph read, ReadGraph(graph->file));
      KS_TRY(CandidateCall call, MakeBlankCall(request.direction, *graph, read));
      calls_.push_back({name, std::move(call), std::move(shape.call)});
    }
    if (shape.judged) {
      ++judged_;
      stage_.note +=
          fmt::format("{}{}: {} elements are right{}", stage_.note.empty() ? "" : "; ", name,
                      shape.elements, shape.all_written ? ", all are written" : "");
      return {};
    }
    // Kernels that run nowhere else keep the candidate from being verified.
    if (!shape.fresh_kernels.empty()) {
      stage_.Add(
          VerdictKind::kInconclusive,
          {.kind = FindingKind::kNotJudged,
           .message = fmt::format("kernel {} runs at the timing shape {} only, which could "
                                  "not be judged: {}",
                                  fmt::join(shape.fresh_kernels, ", "), name, shape.why_not)});
    }
    not_judged_.push_back(fmt::format("{} ({})", name, shape.why_not));
    return {};
  }

  Status JudgeStandIn(TaskRequest request) {
    Result<TaskConfiguration> reduced =
        verification_.tools.tasks.Reduce(verification_.task, request, kReducedWork);
    if (!reduced.ok() || reduced->values == request.configuration.values) return {};
    request.configuration = *std::move(reduced);
    return Judge(request);
  }

  Verification& verification_;
  StageResult stage_;
  std::set<std::string> known_;  // kernels that ran at judged shapes
  size_t judged_ = 0;            // shapes
  std::vector<JudgedCall> calls_;
  std::vector<std::string> not_judged_;
};

}  // namespace

Result<StageResult> TimingStage(Verification& verification) {
  if (verification.options.policy.shapes == VerifyPolicy::Shapes::kExact) {
    return StageResult::Skipped("the exact shape was judged");
  }
  return Timing(verification).Run();
}

}  // namespace kernelsmith
