// What ran at any shape must have been under the checkers at some: a kernel for wide rows, a tail,
// a loop that small shapes leave at once. Shapes that take ways of their own are checked as well.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "verify/check_shape.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// Shapes that are checked beside those of stage checkers, and the work of all of them in that of
// the quick shape and the others which were checked.
constexpr size_t kMostShapes = 6;
constexpr uint64_t kMostWork = 8;
// Sizes at which the ways of a shape for timing are looked for.
constexpr int64_t kSmallerWork[] = {500'000, 4'000'000};
// Ways that are named.
constexpr size_t kMostWords = 3;

struct CoveredShape {
  const TracedShape* traced = nullptr;
  KernelCoverage coverage;
  bool checked = false;
};

class CoverageJudge {
 public:
  explicit CoverageJudge(Verification& verification) : verification_(verification) {}

  Result<StageResult> Run() {
    for (const auto& each : verification_.shapes) KS_RETURN_IF_ERROR(Add(each.get()));
    for (const auto& each : verification_.drawn) KS_RETURN_IF_ERROR(Add(each.get()));
    KS_RETURN_IF_ERROR(CheckMore());
    if (stage_.Ended()) return std::move(stage_);
    for (const Verification::Timed& each : verification_.timed) {
      KS_RETURN_IF_ERROR(LookForTimed(each));
      if (stage_.Ended()) return std::move(stage_);
    }
    KernelCoverage all = known_;
    for (const CoveredShape& run : runs_) all.Merge(run.coverage);
    for (const Verification::Timed& each : verification_.timed) all.Merge(each.coverage);
    const size_t ways = all.CountCovered();
    const size_t missing = all.CountBeyond(known_);
    stage_.note =
        fmt::format("{} of {} ways through the kernels were under the checkers{}", ways - missing,
                    ways, more_.empty() ? "" : fmt::format(", with {}", fmt::join(more_, ", ")));
    if (missing > 0) {
      stage_.Warn(
          {.kind = FindingKind::kNotJudged,
           .message = fmt::format("{} of {} ways through the kernels were taken at judged "
                                  "shapes, but not under the checkers: {}",
                                  missing, ways, fmt::join(all.Beyond(known_, kMostWords), "; "))});
    }
    return std::move(stage_);
  }

 private:
  Status Add(const TracedShape* traced) {
    if (traced == nullptr) return {};
    const auto& checked = verification_.checked;
    CoveredShape run{.traced = traced,
                     .coverage = {},
                     .checked = std::find(checked.begin(), checked.end(), traced) != checked.end()};
    KS_TRY(run.coverage, CoverageOf(*traced));
    if (run.checked) {
      known_.Merge(run.coverage);
      work_ += traced->work;
    }
    runs_.push_back(std::move(run));
    return {};
  }

  Result<KernelCoverage> CoverageOf(const TracedShape& traced) const {
    KernelCoverage coverage;
    const Case sample{.seed = kSeenSeed, .tensors = traced.seen};
    KS_RETURN_IF_ERROR(verification_.Judge(traced, sample, coverage.Recording()));
    return coverage;
  }

  // The shape with the most ways of its own first, as long as there are any and time for them.
  Status CheckMore() {
    uint64_t left = kMostWork * work_;
    for (size_t round = 0; round < kMostShapes; ++round) {
      CoveredShape* best = nullptr;
      size_t most = 0;
      for (CoveredShape& run : runs_) {
        if (run.checked || run.traced->work > left) continue;
        const size_t fresh = run.coverage.CountBeyond(known_);
        if (fresh > most || (fresh == most && most > 0 && run.traced->work < best->traced->work)) {
          best = &run;
          most = fresh;
        }
      }
      if (best == nullptr) return {};
      best->checked = true;
      left -= best->traced->work;
      KS_RETURN_IF_ERROR(Check(*best->traced, best->coverage));
      if (stage_.Ended()) return {};
    }
    return {};
  }

  Status Check(const TracedShape& traced, const KernelCoverage& coverage) {
    KS_RETURN_IF_ERROR(CheckShape(verification_, traced, stage_));
    known_.Merge(coverage);
    more_.push_back(traced.request.configuration.name);
    return {};
  }

  // The ways of a shape for timing that no other shape takes: the smallest one that takes some of
  // them is checked.
  Status LookForTimed(const Verification::Timed& timed) {
    for (const int64_t work : kSmallerWork) {
      if (timed.coverage.CountBeyond(known_) == 0) return {};
      const Result<TaskConfiguration> smaller =
          verification_.tools.tasks.Reduce(verification_.task, timed.request, work);
      if (!smaller.ok() || !tried_.insert(smaller->name).second) continue;
      TaskRequest request = timed.request;
      request.configuration = *smaller;
      // What tracing says of it is no part of what was asked.
      StageResult ignored;
      Result<std::unique_ptr<TracedShape>> traced =
          verification_.PrepareRequest(std::move(request), ignored);
      if (!traced.ok() || *traced == nullptr) continue;
      KS_TRY(const KernelCoverage here, CoverageOf(**traced));
      // As many ways as there are left of the timed shape's own, before and behind.
      KernelCoverage with = known_;
      with.Merge(here);
      if (timed.coverage.CountBeyond(with) == timed.coverage.CountBeyond(known_)) continue;
      KS_RETURN_IF_ERROR(Check(**traced, here));
      if (stage_.Ended()) return {};
    }
    return {};
  }

  Verification& verification_;
  StageResult stage_;
  std::vector<CoveredShape> runs_;
  KernelCoverage known_;  // ways that were under the checkers
  uint64_t work_ = 0;     // of the shapes that were
  std::set<std::string> tried_;
  std::vector<std::string> more_;  // shapes that were checked here
};

}  // namespace

Result<StageResult> CoverageStage(Verification& verification) {
  if (!verification.options.checkers) return StageResult::Skipped("not asked for");
  return CoverageJudge(verification).Run();
}

}  // namespace kernelsmith
