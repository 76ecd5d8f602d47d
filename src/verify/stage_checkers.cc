#include "checkers/suite.h"
#include "verify/check_shape.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// Number of a hidden configuration: in our suite the first hidden one is often a single element.
constexpr size_t kOddConfiguration = 2;

}  // namespace

Result<StageResult> CheckersStage(Verification& verification) {
  if (!verification.options.checkers) return StageResult::Skipped("not asked for");
  StageResult stage;
  // The quick shape has round sizes; a hidden one has threads that part at its edges.
  const auto& all = verification.configurations;
  std::vector<size_t> chosen = {0};
  if (kOddConfiguration < all.size()) chosen.push_back(kOddConfiguration);
  // Races between blocks may take more of them than small shapes have.
  if (all.size() - 1 > chosen.back() && all.back().group == "timing") {
    chosen.push_back(all.size() - 1);
  }
  for (const size_t configuration : chosen) {
    const Result<TracedShape*> prepared = verification.Prepare(configuration, stage);
    if (!prepared.ok() && configuration > 0 && all[configuration].group == "timing") break;
    KS_TRY(const TracedShape* traced, prepared);
    if (traced == nullptr) return stage;
    KS_RETURN_IF_ERROR(CheckShape(verification, *traced, stage));
    if (stage.Ended()) return stage;
    verification.checked.push_back(traced);
    stage.note += (stage.note.empty() ? "" : "; ") + traced->request.configuration.name;
  }
  verification.verdict.proof.checkers = checkers::VerdictCheckerNames();
  return stage;
}

}  // namespace kernelsmith
