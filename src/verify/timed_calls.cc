#include "verify/timed_calls.h"

#include <fmt/format.h>

#include <algorithm>

namespace kernelsmith {
namespace {

bool SamePlace(const Plan& plan, const BufferRef& place, const Plan& other,
               const BufferRef& other_place) {
  const PlanBuffer& a = plan.buffers[place.buffer];
  const PlanBuffer& b = other.buffers[other_place.buffer];
  const bool input = a.kind == PlanBuffer::Kind::kInput;
  if (input != (b.kind == PlanBuffer::Kind::kInput)) return false;
  if (input) return a.argument == b.argument && place.offset == other_place.offset;
  return b.bytes - other_place.offset >= a.bytes - place.offset;
}

bool SamePointers(const Plan& plan, const std::vector<PointerPatch>& pointers, const Plan& other,
                  const std::vector<PointerPatch>& others) {
  return std::equal(pointers.begin(), pointers.end(), others.begin(), others.end(),
                    [&](const PointerPatch& a, const PointerPatch& b) {
                      return a.at == b.at && SamePlace(plan, a.target, other, b.target);
                    });
}

bool SameLaunch(const Plan& plan, const LaunchStep& a, const Plan& other, const LaunchStep& b) {
  return a.kernel == b.kernel && a.grid == b.grid && a.block == b.block && a.cluster == b.cluster &&
         a.dynamic_shared == b.dynamic_shared && a.cooperative == b.cooperative &&
         a.programmatic == b.programmatic && a.parameters == b.parameters &&
         SamePointers(plan, a.pointers, other, b.pointers);
}

std::vector<const PlanStep*> Launches(const Plan& plan) {
  std::vector<const PlanStep*> launches;
  for (const PlanStep& step : plan.steps) {
    if (std::holds_alternative<LaunchStep>(step.action)) launches.push_back(&step);
  }
  return launches;
}

bool LooksAtData(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const PlanStep& step) {
    return std::holds_alternative<HostReadStep>(step.action);
  });
}

}  // namespace

bool SameWork(const Plan& plan, const Plan& other) {
  const std::vector<const PlanStep*> a = Launches(plan);
  const std::vector<const PlanStep*> b = Launches(other);
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [&](const PlanStep* x, const PlanStep* y) {
        return x->stream == y->stream && SameLaunch(plan, std::get<LaunchStep>(x->action), other,
                                                    std::get<LaunchStep>(y->action));
      });
}

Status JudgeTimedCalls(Verification& verification, const std::vector<JudgedCall>& calls,
                       StageResult& stage) {
  // One shape alone was called twice already; what looks at data has no plan without any.
  const bool looks = std::any_of(calls.begin(), calls.end(), [](const JudgedCall& each) {
    return LooksAtData(*each.traced->plan);
  });
  if (calls.size() < 2 || looks) return {};
  std::vector<CandidateCall> sets;
  std::vector<uint32_t> sequence;
  for (const JudgedCall& each : calls) {
    sets.push_back(each.call);
    sequence.push_back(static_cast<uint32_t>(sequence.size()));
  }
  for (size_t i = calls.size(); i-- > 0;) sequence.push_back(static_cast<uint32_t>(i));
  KS_TRY(const TracedSequence traced, verification.candidate.TraceSequence(sets, sequence));
  for (CandidateProblem problem : traced.problems) {
    // Blank tensors may lead host code astray, and many calls take long for an honest one.
    if (problem.kind == FindingKind::kTimeout || problem.verdict != VerdictKind::kRefuted) continue;
    problem.message = "in a sequence of calls at timing shapes: " + problem.message;
    stage.Add(problem);
  }
  if (stage.Ended()) return {};
  for (const SequencePlan& call : traced.history.plans) {
    const JudgedCall& judged = calls.at(call.set);
    if (SameWork(*judged.traced->plan, call.plan())) continue;
    const std::string where =
        fmt::format("in call {} of a process, at the timing shape {}", call.number, judged.shape);
    if (const auto& failed = traced.cleared_launch) {
      stage.Add(VerdictKind::kRefuted, {.kind = FindingKind::kLaunchError,
                                        .message = fmt::format("{}: {}", where, failed->message),
                                        .where = failed->where});
      return {};
    }
    stage.Warn(
        {.kind = FindingKind::kNotJudged,
         .message = fmt::format("{}, other work is launched than the one that was judged", where)});
    return {};
  }
  return {};
}

}  // namespace kernelsmith
