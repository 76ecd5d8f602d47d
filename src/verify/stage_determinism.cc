#include <fmt/format.h>

#include "verify/stages.h"

namespace kernelsmith {
namespace {

// The first output that differs, and where.
struct Difference {
  size_t output = 0;
  int64_t element = 0;
};
std::optional<Difference> FirstDifference(const RunOutcome& a, const RunOutcome& b) {
  for (size_t i = 0; i < a.outputs.size() && i < b.outputs.size(); ++i) {
    if (a.outputs[i].bytes == b.outputs[i].bytes) continue;
    const int64_t size = SizeOf(a.outputs[i].dtype);
    for (int64_t k = 0; k < a.outputs[i].count(); ++k) {
      if (!std::equal(a.outputs[i].bytes.begin() + k * size,
                      a.outputs[i].bytes.begin() + (k + 1) * size,
                      b.outputs[i].bytes.begin() + k * size)) {
        return Difference{i, k};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Status DeterminismStage(Verification& verification) {
  const Subject& subject = *verification.subjects[0];
  const Case one{.seed = verification.Secret(3000), .tensors = subject.seen};
  const Case other{.seed = verification.Secret(3001), .tensors = subject.seen};
  KS_TRY(const CaseOutcome first, verification.Judge(subject, one));
  KS_TRY(const CaseOutcome again, verification.Judge(subject, one));
  // Fresh memory holds other bytes: what shows them was never initialised.
  KS_TRY(const CaseOutcome garbage, verification.Judge(subject, other));
  if (FirstDifference(first.run, again.run)) {
    verification.verdict.proof.deterministic = false;
  } else if (const auto at = FirstDifference(first.run, garbage.run)) {
    const HostTensor& tensor = first.run.outputs[at->output];
    verification.Add(VerdictKind::kRefuted,
                     {.kind = "uninitialised_read",
                      .message = fmt::format("{} depends on memory that nobody wrote: element {} "
                                             "is {:.9g} or {:.9g} as the garbage "
                                             "in it is",
                                             subject.task.results[at->output], at->element,
                                             tensor.at(at->element),
                                             garbage.run.outputs[at->output].at(at->element))});
    return {};
  } else {
    verification.verdict.proof.deterministic = true;
  }
  if (verification.verdict.proof.deterministic == false) {
    Finding finding{.kind = "not_deterministic",
                    .message = "two runs on the same data give different bits"};
    if (verification.options.policy.require_deterministic) {
      verification.Add(VerdictKind::kRefuted, std::move(finding));
    } else {
      verification.Warn(std::move(finding));
    }
  }
  verification.note = "same schedule, other garbage in fresh memory";
  return {};
}

}  // namespace kernelsmith
