// Runs the plan with its tensors in other places. Kernels that do more with addresses than access
// memory are found by the checkers already; this is what no analysis can miss: results that differ.
#include <fmt/format.h>

#include <array>

#include "verify/stages.h"

namespace kernelsmith {
namespace {

struct Layout {
  const char* name;
  MemoryLayout::Kind kind;
};
constexpr std::array kLayouts = {
    Layout{"tensors side by side in blocks of 2 MiB", MemoryLayout::Kind::kPacked},
    Layout{"tensors in another order and far apart", MemoryLayout::Kind::kScattered},
};

// The number of the first result whose bytes differ.
std::optional<size_t> FirstDifference(const RunOutcome& a, const RunOutcome& b) {
  for (size_t i = 0; i < a.outputs.size() && i < b.outputs.size(); ++i) {
    if (a.outputs[i].bytes != b.outputs[i].bytes) return i;
  }
  return std::nullopt;
}

}  // namespace

Result<StageResult> LayoutsStage(Verification& verification) {
  if (verification.options.policy.Allows("addresses")) {
    return StageResult::Skipped("addresses may decide");
  }
  StageResult stage;
  const TracedShape& traced = *verification.shapes[0];
  const uint64_t seed = verification.Secret(SeedStream::kLayouts);
  Case guarded{.seed = seed, .tensors = traced.seen};
  KS_TRY(const CaseOutcome first, verification.Judge(traced, guarded));
  if (first.run.failure) return stage;
  // Blocks that race for an atomic may make other bits in every run; then only the comparison with
  // the oracle counts.
  std::optional<bool> repeats;
  for (const Layout& layout : kLayouts) {
    Case moved = guarded;
    moved.layout = {.kind = layout.kind, .seed = seed};
    KS_TRY(CaseOutcome outcome, verification.Judge(traced, moved));
    for (Objection& each : outcome.objections) {
      if (each.kind != VerdictKind::kRefuted) continue;
      stage.Add(VerdictKind::kRefuted,
                {.kind = FindingKind::kLayoutDependent,
                 .message = fmt::format("with {}: {}", layout.name, each.finding.message)});
      return stage;
    }
    const auto differs = FirstDifference(first.run, outcome.run);
    if (!differs) continue;
    if (!repeats) {
      KS_TRY(const CaseOutcome again, verification.Judge(traced, guarded));
      repeats = !FirstDifference(first.run, again.run);
    }
    if (!*repeats) continue;
    stage.Add(VerdictKind::kRefuted,
              {.kind = FindingKind::kLayoutDependent,
               .message = fmt::format("{} has other bits with {}", traced.task.results[*differs],
                                      layout.name)});
    return stage;
  }
  stage.note = fmt::format("{} other layouts of memory", kLayouts.size());
  return stage;
}

}  // namespace kernelsmith
