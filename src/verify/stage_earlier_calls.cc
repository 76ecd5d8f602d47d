#include <fmt/format.h>

#include "verify/stages.h"

namespace kernelsmith {
namespace {

// Earlier calls before the one that is judged: a kernel that counts its calls in a device variable
// and then takes a shortcut shows it.
constexpr int kEarlierCalls = 3;

// The plan after earlier calls: variables of the module and prepared memory keep what those left;
// memory that a call allocates for itself is another each time.
Plan AfterEarlierCalls(const Plan& plan) {
  Plan result = plan;
  std::vector<BufferIndex> earlier(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan.buffers[i];
    const bool own = !buffer.prepared && buffer.kind != PlanBuffer::Kind::kInput &&
                     buffer.kind != PlanBuffer::Kind::kVariable;
    earlier[i] = static_cast<BufferIndex>(own ? result.buffers.size() : i);
    if (own) result.buffers.push_back(buffer);
  }
  const auto move = [&](BufferRef& ref) { ref.buffer = earlier[ref.buffer]; };
  std::vector<PlanStep> steps = plan.steps;
  for (PlanStep& step : steps) {
    std::visit(
        [&](auto& action) {
          using T = std::decay_t<decltype(action)>;
          if constexpr (std::is_same_v<T, LaunchStep> || std::is_same_v<T, UploadStep>) {
            for (PointerPatch& pointer : action.pointers) move(pointer.target);
          }
          if constexpr (std::is_same_v<T, FillStep> || std::is_same_v<T, UploadStep>) {
            move(action.to);
          }
          if constexpr (std::is_same_v<T, CopyStep>) {
            move(action.to);
            move(action.from);
          }
          if constexpr (std::is_same_v<T, HostReadStep>) move(action.from);
          if constexpr (std::is_same_v<T, LibraryStep>) {
            for (PlanTensor& tensor : action.tensors) move(tensor.at);
            for (PlanTensor& tensor : action.outputs) move(tensor.at);
          }
        },
        step.action);
  }
  for (int call = 0; call < kEarlierCalls; ++call) {
    result.preparation.insert(result.preparation.end(), steps.begin(), steps.end());
  }
  return result;
}

const Objection* FirstRefuting(const CaseOutcome& outcome) {
  for (const Objection& each : outcome.objections) {
    if (each.kind == VerdictKind::kRefuted) return &each;
  }
  return nullptr;
}

Status CheckCase(Verification& verification, const TracedShape& traced, const Plan& plan,
                 const Case& sample, StageResult& stage) {
  KS_TRY(const CaseOutcome outcome, verification.JudgePlan(traced, plan, sample, &traced.seen));
  const Objection* objection = FirstRefuting(outcome);
  if (objection == nullptr) return {};
  // What is as wrong without earlier calls is not their fault: how much that counts on such inputs
  // the numbers have decided.
  KS_TRY(const CaseOutcome alone, verification.Judge(traced, sample));
  if (FirstRefuting(alone) != nullptr) return {};
  // Packed weights may stay as long as the weights do.
  CaseTensors same_weights = traced.seen;
  std::string weights;
  size_t position = 0;
  for (const TensorSpec& tensor : traced.task.tensors) {
    const bool kept = position < traced.kept.size() && traced.kept[position];
    ++position;
    const auto now = sample.tensors.values.find(tensor.name);
    if (!kept || now == sample.tensors.values.end()) continue;
    same_weights.values[tensor.name] = now->second;
    weights += (weights.empty() ? "" : ", ") + tensor.name;
  }
  if (!weights.empty()) {
    KS_TRY(const CaseOutcome again, verification.JudgePlan(traced, plan, sample, &same_weights));
    if (FirstRefuting(again) == nullptr) {
      stage.Note({.kind = FindingKind::kPreparedWeights,
                  .message = fmt::format("what the first call makes of {} is kept: other "
                                         "weights in a later call give wrong results",
                                         weights)});
      return {};
    }
  }
  Finding finding = objection->finding;
  finding.message = "after earlier calls with other data: " + finding.message;
  finding.kind = FindingKind::kStaleResult;
  stage.Add(VerdictKind::kRefuted, std::move(finding));
  return {};
}

}  // namespace

Result<StageResult> EarlierCallsStage(Verification& verification) {
  StageResult stage;
  const TracedShape& traced = *verification.shapes[0];
  const Plan plan = AfterEarlierCalls(traced.plan());
  stage.note = fmt::format("after {} calls with other data", kEarlierCalls);
  // Other data altogether, and the same but for a few elements, which a fingerprint would miss.
  // The first is the draw that the numbers were judged on: PyTorch need not be asked again.
  for (const auto& [inputs, stream] :
       {std::pair("task", SeedStream::kTaskDraws), std::pair("single", SeedStream::kSingle)}) {
    KS_TRY(const std::optional<Case> sample,
           verification.MakeCase(traced, inputs, verification.CaseSecret(traced, inputs, stream)));
    if (!sample) continue;
    KS_RETURN_IF_ERROR(CheckCase(verification, traced, plan, *sample, stage));
    if (stage.Ended()) return stage;
  }
  return stage;
}

}  // namespace kernelsmith
