#include <fmt/format.h>

#include "verify/later_calls.h"
#include "verify/repeated_plan.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// Earlier calls before the one that is judged: a kernel that counts its calls in a device variable
// and then takes a shortcut shows it.
constexpr int kEarlierCalls = 3;

}  // namespace

Result<StageResult> EarlierCallsStage(Verification& verification) {
  StageResult stage;
  const TracedShape& traced = *verification.shapes[0];
  const Plan plan = AfterCalls(traced.plan(), kEarlierCalls);
  stage.note = fmt::format("after {} calls with other data", kEarlierCalls);
  // Other data altogether, and the same but for a few elements, which a fingerprint would miss.
  // The first is the draw that the numbers were judged on: PyTorch need not be asked again.
  for (const auto& [inputs, stream] :
       {std::pair("task", SeedStream::kTaskDraws), std::pair("single", SeedStream::kSingle)}) {
    KS_TRY(const std::optional<Case> sample,
           verification.MakeCase(traced, inputs, verification.CaseSecret(traced, inputs, stream)));
    if (!sample) continue;
    KS_RETURN_IF_ERROR(JudgeLaterCall(verification, traced,
                                      {.plan = {plan, {}},
                                       .when = "after earlier calls with other data",
                                       .kind = FindingKind::kStaleResult},
                                      *sample, stage));
    if (stage.Ended()) return stage;
  }
  return stage;
}

}  // namespace kernelsmith
