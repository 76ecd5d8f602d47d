#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

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

// The largest difference between two runs.
double Spread(const RunOutcome& a, const RunOutcome& b) {
  double spread = 0;
  for (size_t i = 0; i < a.outputs.size() && i < b.outputs.size(); ++i) {
    for (int64_t k = 0; k < a.outputs[i].count() && k < b.outputs[i].count(); ++k) {
      const double difference = std::abs(a.outputs[i].at(k) - b.outputs[i].at(k));
      if (difference > spread) spread = difference;
    }
  }
  return spread;
}

// Orders beside the ascending one. A sum of a handful of terms is the same in half of all orders:
// with atomics many are tried, until one differs. Without them three are enough for what is left,
// races.
constexpr uint64_t kSchedules = 3;
constexpr uint64_t kSchedulesOfAtomics = 12;
// Work of another shape at which the order is tried as well.
constexpr uint64_t kOtherWork = 2'000'000;

// Results at one shape in several orders.
struct Orders {
  bool same = true;
  double spread = 0;  // the largest difference
};

Result<Orders> TryOrders(Verification& verification, const TracedShape& traced, const Case& one,
                         const RunOutcome& first, uint64_t schedules, StageResult& stage) {
  Orders orders;
  for (uint64_t schedule = 1; schedule <= schedules; ++schedule) {
    if (!orders.same && schedule > kSchedules) break;
    Case other_order = one;
    other_order.schedule = schedule;
    KS_TRY(CaseOutcome outcome, verification.Judge(traced, other_order));
    if (outcome.run.failure) continue;
    for (Objection& each : outcome.objections) {
      if (each.kind != VerdictKind::kRefuted) continue;
      each.finding.message = "in another order of blocks and warps: " + each.finding.message;
      stage.Add(VerdictKind::kRefuted, std::move(each.finding));
      return orders;
    }
    if (FirstDifference(first, outcome.run)) {
      orders.same = false;
      orders.spread = std::max(orders.spread, Spread(first, outcome.run));
    }
  }
  return orders;
}

bool MayDependOnOrder(const WatchedRun& run) {
  return std::any_of(run.launches.begin(), run.launches.end(),
                     [](const WatchedLaunch& l) { return l.may_depend_on_order; });
}

// A kernel for wide rows may have the only atomics: the shapes at which order may matter, as far as
// they are cheap.
Result<Orders> TryOtherShapes(Verification& verification, const WatchedRun& quick,
                              StageResult& stage) {
  Orders all;
  const std::set<std::string> known = KernelsOf(verification.shapes[0]->plan());
  for (size_t i = 1; i < verification.shapes.size() && all.same; ++i) {
    const TracedShape* traced = verification.shapes[i].get();
    if (traced == nullptr || traced->work > kOtherWork) continue;
    if (!MayDependOnOrder(quick) && NewKernels(traced->plan(), known).empty()) continue;
    const Case one{.seed = verification.Secret(SeedStream::kDeterminism, 1 + i),
                   .tensors = traced->seen};
    KS_TRY(const CaseOutcome first, verification.Judge(*traced, one));
    if (first.run.failure || !MayDependOnOrder(first.run)) continue;
    KS_TRY(all, TryOrders(verification, *traced, one, first.run, kSchedules, stage));
    if (stage.Ended()) break;
  }
  return all;
}

}  // namespace

Result<StageResult> DeterminismStage(Verification& verification) {
  StageResult stage;
  const TracedShape& traced = *verification.shapes[0];
  const Case one{.seed = verification.Secret(SeedStream::kDeterminism, 0), .tensors = traced.seen};
  const Case other{.seed = verification.Secret(SeedStream::kDeterminism, 1),
                   .tensors = traced.seen};
  KS_TRY(const CaseOutcome first, verification.Judge(traced, one));
  KS_TRY(const CaseOutcome again, verification.Judge(traced, one));
  // Fresh memory holds other bytes: what shows them was never initialised.
  KS_TRY(const CaseOutcome garbage, verification.Judge(traced, other));
  if (const auto at = FirstDifference(first.run, garbage.run);
      at && !FirstDifference(first.run, again.run)) {
    const HostTensor& tensor = first.run.outputs[at->output];
    stage.Add(VerdictKind::kRefuted,
              {.kind = FindingKind::kUninitializedRead,
               .message =
                   fmt::format("{} depends on memory that nobody wrote: element {} "
                               "is {:.9g} or {:.9g} as the garbage "
                               "in it is",
                               traced.task.results[at->output], at->element, tensor.at(at->element),
                               garbage.run.outputs[at->output].at(at->element))});
    return stage;
  }
  // What reads where it runs gets to run in other places: the schedule chooses them.
  const bool environment =
      std::any_of(verification.verdict.findings.begin(), verification.verdict.findings.end(),
                  [](const Finding& each) { return each.kind == FindingKind::kReadsEnvironment; });
  const uint64_t schedules =
      MayDependOnOrder(first.run) || environment ? kSchedulesOfAtomics : kSchedules;
  KS_TRY(Orders orders, TryOrders(verification, traced, one, first.run, schedules, stage));
  if (stage.Ended()) return stage;
  if (orders.same) {
    KS_TRY(orders, TryOtherShapes(verification, first.run, stage));
    if (stage.Ended()) return stage;
  }
  verification.verdict.proof.deterministic = orders.same;
  verification.verdict.proof.spread = orders.spread;
  stage.note = fmt::format("{} other orders, other garbage in fresh memory", schedules);
  if (orders.same) return stage;
  Finding finding{.kind = FindingKind::kNondeterministic,
                  .message = fmt::format("results change with the order of blocks and atomics, by "
                                         "up to {:.2g}",
                                         orders.spread)};
  if (verification.options.policy.require_deterministic) {
    stage.Add(VerdictKind::kRefuted, std::move(finding));
  } else {
    stage.Warn(std::move(finding));
  }
  return stage;
}

}  // namespace kernelsmith
