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
Status CheckKernels(Verification& verification, const TracedShape& traced, const Case& sample,
                    const CaseOutcome& whole, StageResult& stage) {
  std::vector<size_t> launches;
  for (size_t i = 0; i < traced.plan().steps.size(); ++i) {
    if (std::holds_alternative<LaunchStep>(traced.plan().steps[i].action)) launches.push_back(i);
  }
  if (launches.size() > kMaxLaunches) return {};
  for (const size_t i : launches) {
    Plan without = traced.plan();
    const std::string name = KernelName(std::get<LaunchStep>(without.steps[i].action).kernel);
    without.steps.erase(without.steps.begin() + static_cast<ptrdiff_t>(i));
    const Result<CaseOutcome> outcome = verification.JudgePlan(traced, without, sample);
    if (!outcome.ok() || outcome->run.failure) continue;
    if (SameBytes(outcome->run.outputs, whole.run.outputs) &&
        SameBytes(outcome->run.inputs, whole.run.inputs)) {
      stage.Note({.kind = FindingKind::kNoEffect,
                  .message = fmt::format("kernel {} has no effect on the results", name)});
    }
  }
  return {};
}

// One input changed by a lot, everything else as it was: what ignores the input can't follow.
Status CheckInput(Verification& verification, const TracedShape& traced, const std::string& name,
                  uint64_t seed, StageResult& stage) {
  HostTensor changed = traced.seen.values.at(name);
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
         verification.MakeCaseOf(traced, {{name, std::move(changed)}}, "task", seed));
  if (!sample) return {};
  KS_TRY(CaseOutcome outcome, verification.Judge(traced, *sample));
  for (Objection& each : outcome.objections) {
    if (each.kind != VerdictKind::kRefuted || !each.gross) continue;
    each.finding.counterexample.reset();  // these inputs have no recipe
    each.finding.message = fmt::format("when '{}' alone changes: {}", name, each.finding.message);
    stage.Add(VerdictKind::kRefuted, std::move(each.finding));
    return {};
  }
  for (const auto& [result, value] : sample->tensors.expected) {
    const auto before = traced.seen.expected.find(result);
    if (before == traced.seen.expected.end() || before->second.bytes == value.bytes) continue;
    verification.verdict.proof.depends_on.push_back(name);
    break;
  }
  return {};
}

}  // namespace

Result<StageResult> DependenceStage(Verification& verification) {
  StageResult stage;
  const TracedShape& traced = *verification.shapes[0];
  const Case seen{.seed = 3, .tensors = traced.seen};
  KS_TRY(const CaseOutcome whole, verification.Judge(traced, seen));
  KS_RETURN_IF_ERROR(CheckKernels(verification, traced, seen, whole, stage));
  uint64_t left = verification.options.structured_budget;
  size_t inputs = 0;
  for (const TensorSpec& tensor : traced.task.tensors) {
    const auto found = traced.seen.values.find(tensor.name);
    if (found == traced.seen.values.end() || !IsFloat(found->second.dtype)) continue;
    if (++inputs > kMaxInputs || left < traced.work) break;
    left -= traced.work;
    KS_RETURN_IF_ERROR(CheckInput(
        verification, traced, tensor.name,
        verification.CaseSecret(traced, "changed", SeedStream::kDependence, inputs), stage));
    if (stage.Ended()) return stage;
  }
  stage.note = fmt::format("{} of {} inputs shown to matter",
                           verification.verdict.proof.depends_on.size(), inputs);
  return stage;
}

}  // namespace kernelsmith
