#include <fmt/format.h>

#include <algorithm>

#include "checkers/suite.h"
#include "device/plan_checks.h"
#include "support/demangle.h"
#include "verify/stages.h"

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

// Number of a hidden configuration: in our suite the first hidden one is often a single element.
constexpr size_t kOddConfiguration = 2;

Status CheckSubject(Verification& verification, const TracedShape& subject, vgpu::VirtualGpu& gpu) {
  checkers::FindingSink sink;
  checkers::CheckerList list(sink);
  checkers::AddVerdictCheckers(list, sink, gpu);
  // Inputs that are overwritten are found by what is in them afterwards.
  PlanChecks steps(
      subject.plan, list, gpu,
      {.place = {}, .may_write = std::vector<bool>(subject.plan.buffers.size(), true)});
  const Case sample{.seed = verification.Secret(500), .tensors = subject.seen};
  KS_TRY(CaseOutcome outcome,
         verification.Judge(subject, sample,
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
      // Elements that nobody wrote are the business of the numbers. A branch or an address may
      // depend on garbage without consequence: then garbage that differs decides
      // (stage_determinism.cc).
      if (!found.host_sees_it) {
        if (!unwritten) verification.Warn(std::move(finding));
        continue;
      }
    }
    if (found.severity == Severity::kError) {
      verification.Add(VerdictKind::kRefuted, std::move(finding));
    } else {
      verification.Warn(std::move(finding));
    }
  }
  // A run that ended early was seen in part only; what ended it is told as well.
  for (Objection& each : outcome.objections) {
    if (outcome.run.failure || each.kind == VerdictKind::kUnsupported) {
      verification.Add(each.kind, std::move(each.finding));
    }
  }
  return {};
}

}  // namespace

Status CheckersStage(Verification& verification) {
  vgpu::VirtualGpu* gpu = verification.tools.device.gpu();
  if (gpu == nullptr || !verification.options.checkers) {
    verification.skipped = true;
    verification.note = gpu == nullptr ? "this device has no checkers" : "not asked for";
    return {};
  }
  // The quick shape has round sizes; a hidden one has threads that part at its edges.
  const auto& all = verification.configurations;
  std::vector<size_t> chosen = {0};
  if (kOddConfiguration < all.size()) chosen.push_back(kOddConfiguration);
  // Races between blocks may take more of them than small shapes have.
  if (all.size() - 1 > chosen.back() && all.back().group == "timing") {
    chosen.push_back(all.size() - 1);
  }
  for (const size_t configuration : chosen) {
    const Result<TracedShape*> prepared = verification.Prepare(configuration);
    if (!prepared.ok() && configuration > 0 && all[configuration].group == "timing") break;
    KS_TRY(const TracedShape* subject, prepared);
    if (subject == nullptr) return {};
    KS_RETURN_IF_ERROR(CheckSubject(verification, *subject, *gpu));
    if (verification.Ended()) return {};
    verification.note +=
        (verification.note.empty() ? "" : "; ") + subject->request.configuration.name;
  }
  verification.verdict.proof.checkers = checkers::VerdictCheckerNames();
  return {};
}

}  // namespace kernelsmith
