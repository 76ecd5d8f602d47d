#include "verify/check_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkers/environment_labels.h"
#include "checkers/suite.h"
#include "device/plan_checks.h"
#include "support/demangle.h"

namespace kernelsmith {
namespace {

Finding FromChecker(const checkers::Finding& found) {
  const checkers::Place& place = found.place;
  std::string message = found.message;
  if (!place.kernel.empty()) message += fmt::format(", kernel {}", KernelName(place.kernel));
  if (place.block && place.thread) {
    message +=
        fmt::format(", block ({}, {}, {}), thread ({}, {}, {})", place.block->x, place.block->y,
                    place.block->z, place.thread->x, place.thread->y, place.thread->z);
  }
  if (found.other) {
    const SourceLocation& other =
        found.other->source.file.empty() ? found.other->ptx : found.other->source;
    if (other.line > 0) message += fmt::format("; the other side is line {}", other.line);
  }
  if (found.count > 1) message += fmt::format(" ({} times)", found.count);
  return {.kind = found.kind,
          .message = std::move(message),
          .where = place.source.file.empty() ? place.ptx : place.source};
}

// May what the finding is about decide? The policy says so, and the verdict shows it.
bool IsAllowed(const checkers::Finding& found, const VerifyPolicy& policy) {
  if (found.kind == FindingKind::kUninitializedRead) return policy.Allows("uninitialised");
  if (found.kind != FindingKind::kEnvironmentDecides) return false;
  const auto allowed = [&](uint8_t origin, const char* word) {
    return (found.environment & origin) == 0 || policy.Allows(word);
  };
  return allowed(checkers::environment::kClock, "clocks") &&
         allowed(checkers::environment::kPlace, "sm_ids") &&
         allowed(checkers::environment::kAddress, "addresses");
}

}  // namespace

Status CheckShape(Verification& verification, const TracedShape& traced, StageResult& stage) {
  vgpu::VirtualGpu& gpu = verification.tools.device.gpu();
  checkers::FindingSink sink;
  checkers::CheckerList list(sink);
  checkers::AddVerdictCheckers(list, sink, gpu);
  // Inputs that are overwritten are found by what is in them afterwards.
  PlanChecks steps(
      traced.plan(), list, gpu,
      {.place = {}, .may_write = std::vector<bool>(traced.plan().buffers.size(), true)});
  const Case sample{.seed = verification.Secret(SeedStream::kChecked), .tensors = traced.seen};
  KS_TRY(CaseOutcome outcome,
         verification.Judge(traced, sample,
                            {.observer = &list, .steps = &steps, .preparation = true}));
  list.Finish();
  const bool unwritten =
      std::any_of(outcome.objections.begin(), outcome.objections.end(), [](const Objection& each) {
        return each.finding.kind == FindingKind::kUnwritten ||
               each.finding.kind == FindingKind::kLaunchError;
      });
  for (const checkers::Finding& found : sink.Findings()) {
    Finding finding = FromChecker(found);
    if (found.kind == FindingKind::kUninitializedRead) {
      // Elements that nobody wrote are the business of the numbers.
      if (!found.host_sees_it && !found.decides) {
        if (!unwritten) stage.Warn(std::move(finding));
        continue;
      }
    }
    if (IsAllowed(found, verification.options.policy)) {
      stage.Note(std::move(finding));
      continue;
    }
    if (found.severity == Severity::kError) {
      stage.Add(VerdictKind::kRefuted, std::move(finding));
    } else {
      stage.Warn(std::move(finding));
    }
  }
  // A run that ended early was seen in part only; what ended it is told as well.
  for (Objection& each : outcome.objections) {
    if (outcome.run.failure || each.kind == VerdictKind::kUnsupported) {
      stage.Add(each.kind, std::move(each.finding));
    }
  }
  return {};
}

}  // namespace kernelsmith
