#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/demangle.h"
#include "support/rng.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// More launches than this are a loop; trying each would cost more than it tells.
constexpr size_t kMaxLaunches = 16;
constexpr size_t kMaxInputs = 12;

bool SameBytes(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].bytes != b[i].bytes) return false;
  }
  return true;
}

// A kernel that can be left out was put there for show.
Status CheckKernels(Verification& verification, const TracedShape& subject, const Case& sample,
                    const CaseOutcome& whole) {
  std::vector<size_t> launches;
  for (size_t i = 0; i < subject.plan.steps.size(); ++i) {
    if (std::holds_alternative<LaunchStep>(subject.plan.steps[i].action)) launches.push_back(i);
  }
  if (launches.size() > kMaxLaunches) return {};
  for (const size_t i : launches) {
    Plan without = subject.plan;
    const std::string name = KernelName(std::get<LaunchStep>(without.steps[i].action).kernel);
    without.steps.erase(without.steps.begin() + static_cast<ptrdiff_t>(i));
    const Result<CaseOutcome> outcome = verification.JudgePlan(subject, without, sample);
    if (!outcome.ok() || outcome->run.failure) continue;
    if (SameBytes(outcome->run.outputs, whole.run.outputs) &&
        SameBytes(outcome->run.inputs, whole.run.inputs)) {
      verification.Note({.kind = FindingKind::kNoEffect,
                         .message = fmt::format("kernel {} has no effect on the results", name)});
    }
  }
  return {};
}

// One input changed by a lot, everything else as it was: what ignores the input can't follow.
Status CheckInput(Verification& verification, const TracedShape& subject, const std::string& name,
                  uint64_t seed) {
  HostTensor changed = subject.seen.values.at(name);
  Rng rng(seed);
  bool non_negative = true;
  bool finite = true;
  for (int64_t i = 0; i < changed.count(); ++i) {
    non_negative &= changed.at(i) >= 0;
    finite &= std::isfinite(changed.at(i));
  }
  if (!finite) return {};
  for (int64_t i = 0; i < changed.count(); ++i) {
    const double moved = changed.at(i) * (2 + rng.Uniform()) + (non_negative ? 0 : rng.Normal());
    changed.set(i, moved);
  }
  KS_TRY(const std::optional<Case> sample,
         verification.MakeCaseOf(subject, {{name, std::move(changed)}}, "task", seed));
  if (!sample) return {};
  KS_TRY(CaseOutcome outcome, verification.Judge(subject, *sample));
  for (Objection& each : outcome.objections) {
    if (each.kind != VerdictKind::kRefuted || !each.gross) continue;
    each.finding.counterexample.reset();  // these inputs have no recipe
    each.finding.message = fmt::format("when '{}' alone changes: {}", name, each.finding.message);
    verification.Add(VerdictKind::kRefuted, std::move(each.finding));
    return {};
  }
  for (const auto& [result, value] : sample->tensors.expected) {
    const auto before = subject.seen.expected.find(result);
    if (before == subject.seen.expected.end() || before->second.bytes == value.bytes) continue;
    verification.verdict.proof.depends_on.push_back(name);
    break;
  }
  return {};
}

}  // namespace

Status DependenceStage(Verification& verification) {
  const TracedShape& subject = *verification.subjects[0];
  const Case seen{.seed = 3, .tensors = subject.seen};
  KS_TRY(const CaseOutcome whole, verification.Judge(subject, seen));
  KS_RETURN_IF_ERROR(CheckKernels(verification, subject, seen, whole));
  uint64_t left = verification.options.structured_budget;
  size_t inputs = 0;
  for (const TensorSpec& tensor : subject.task.tensors) {
    const auto found = subject.seen.values.find(tensor.name);
    if (found == subject.seen.values.end() || !IsFloat(found->second.dtype)) continue;
    if (++inputs > kMaxInputs || left < subject.work) break;
    left -= subject.work;
    KS_RETURN_IF_ERROR(CheckInput(verification, subject, tensor.name,
                                  verification.CaseSecret(subject, "changed", 2000 + inputs)));
    if (verification.Ended()) return {};
  }
  verification.note = fmt::format("{} of {} inputs shown to matter",
                                  verification.verdict.proof.depends_on.size(), inputs);
  return {};
}

}  // namespace kernelsmith
