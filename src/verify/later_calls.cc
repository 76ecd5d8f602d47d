#include "verify/later_calls.h"

#include <fmt/format.h>

namespace kernelsmith {
namespace {

const Objection* FirstRefuting(const CaseOutcome& outcome) {
  for (const Objection& each : outcome.objections) {
    if (each.kind == VerdictKind::kRefuted) return &each;
  }
  return nullptr;
}

// The call and the data of its preparation, with the weights of `sample` from the beginning.
// `weights` gets their names; it stays empty if there are none.
struct SameWeights {
  CallPlan plan;
  CaseTensors earlier;
  std::string weights;
};

SameWeights WithSameWeights(const TracedShape& traced, const CallPlan& plan, const Case& sample) {
  SameWeights same{.plan = plan, .earlier = traced.seen, .weights = ""};
  for (size_t position = 0; position < traced.task.tensors.size(); ++position) {
    const std::string& name = traced.task.tensors[position].name;
    const bool kept = position < traced.kept.size() && traced.kept[position];
    const auto now = sample.tensors.values.find(name);
    if (!kept || now == sample.tensors.values.end()) continue;
    same.earlier.values[name] = now->second;
    same.weights += (same.weights.empty() ? "" : ", ") + name;
    for (size_t i = 0; i < plan.foreign.size(); ++i) {
      if (plan.foreign[i].argument != position) continue;
      auto& upload = std::get<UploadStep>(same.plan.plan.preparation[i].action);
      if (upload.data.size() == now->second.bytes.size()) upload.data = now->second.bytes;
    }
  }
  return same;
}

}  // namespace

Status JudgeLaterCall(Verification& verification, const TracedShape& traced, const LaterCall& call,
                      const Case& sample, StageResult& stage) {
  const auto judge = [&](const Plan& plan, const CaseTensors& earlier) {
    return verification.JudgePlan(traced, plan, sample, &earlier);
  };
  KS_TRY(const CaseOutcome outcome, judge(call.plan.plan, traced.seen));
  const Objection* objection = FirstRefuting(outcome);
  if (objection == nullptr) return {};
  // What is as wrong without earlier calls is not their fault: how much that counts on such inputs
  // the numbers have decided.
  KS_TRY(const CaseOutcome alone, verification.Judge(traced, sample));
  if (FirstRefuting(alone) != nullptr) return {};
  // Packed weights may stay as long as the weights do.
  const SameWeights same = WithSameWeights(traced, call.plan, sample);
  if (!same.weights.empty()) {
    KS_TRY(const CaseOutcome again, judge(same.plan.plan, same.earlier));
    if (FirstRefuting(again) == nullptr) {
      stage.Note({.kind = FindingKind::kPreparedWeights,
                  .message = fmt::format("what the first call makes of {} is kept: other "
                                         "weights in a later call give wrong results",
                                         same.weights)});
      return {};
    }
  }
  Finding finding = objection->finding;
  finding.message = call.when + ": " + finding.message;
  finding.kind = call.kind;
  stage.Add(VerdictKind::kRefuted, std::move(finding));
  return {};
}

}  // namespace kernelsmith
