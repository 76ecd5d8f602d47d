// Sizes and scalars that the task does not list. Listed ones are public: a kernel may be right at
// these alone, by a tail that none of them has, by a limit of the grid that none of them reaches,
// or by a number that is the same in all of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>

#include "verify/case_jobs.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// Listed configurations that no other stage takes: each costs as much as a small shape.
constexpr size_t kMostListed = 24;
constexpr int64_t kListedWork = 200'000;
// Threads of a plan with many rows that runs. A larger one is only traced: the limits of a grid
// show without a run.
constexpr uint64_t kMostThreads = uint64_t{1} << 20;

// One configuration beside those of the numbers stage.
struct Extra {
  TaskConfiguration configuration;
  std::string what;      // for people
  bool listed = false;   // by the task itself
  bool scalars = false;  // it differs from a listed one in these alone
};

uint64_t ThreadsOf(const Plan& plan) {
  uint64_t threads = 0;
  for (const PlanStep& step : plan.steps) {
    if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
      threads += launch->grid.Count() * launch->block.Count();
    }
  }
  return threads;
}

class Drawing {
 public:
  explicit Drawing(Verification& verification)
      : verification_(verification),
        single_(verification.task.Configurations(verification.options.direction).size() == 1),
        drawn_decide_(!single_ ||
                      verification.options.policy.shapes == VerifyPolicy::Shapes::kFamily) {}

  Result<StageResult> Run() {
    AddListed();
    AddDrawn();
    for (const Extra& extra : extras_) {
      KS_RETURN_IF_ERROR(Prepare(extra));
      if (stage_.Ended()) return std::move(stage_);
    }
    RunJobs(verification_, jobs_, /*all=*/!drawn_decide_);
    for (size_t i = 0; i < jobs_.size() && !stage_.Ended(); ++i) {
      if (!jobs_[i].outcome) continue;
      if (!jobs_[i].outcome->ok()) return jobs_[i].outcome->error();
      Conclude(**jobs_[i].outcome, *job_extras_[i]);
    }
    NoteRefused();
    // Stages behind this one go on with them.
    for (size_t i = 0; i < shapes_.size() && !stage_.Ended(); ++i) {
      if (!Decides(*job_extras_[i])) continue;
      if (job_extras_[i]->scalars) verification_.other_scalars.push_back(shapes_[i].get());
      verification_.drawn.push_back(std::move(shapes_[i]));
    }
    stage_.note = fmt::format("{} sizes and scalars that the task does not list, {} that it does",
                              extras_.size() - listed_, listed_);
    return std::move(stage_);
  }

 private:
  TaskRequest RequestOf(const TaskConfiguration& configuration) const {
    return {.direction = verification_.options.direction,
            .configuration = configuration,
            .dtype = verification_.options.dtype};
  }

  // Configurations of the task that the numbers stage has left out; those for timing have a stage
  // of their own.
  void AddListed() {
    std::vector<std::string> left_out;
    std::set<std::string> names;
    for (const auto& shape : verification_.shapes) {
      if (shape != nullptr) names.insert(shape->request.configuration.name);
    }
    for (const TaskConfiguration& each :
         verification_.task.Configurations(verification_.options.direction)) {
      const bool chosen =
          std::any_of(verification_.configurations.begin(), verification_.configurations.end(),
                      [&](const TaskConfiguration& other) { return other.values == each.values; });
      if (chosen || each.group == "timing") continue;
      if (listed_ >= kMostListed) {
        left_out.push_back(each.name);
        continue;
      }
      // In the least time; a task that can't be made so small still has a smaller form.
      Result<TaskConfiguration> reduced =
          verification_.tools.tasks.Reduce(verification_.task, RequestOf(each), kListedWork);
      if (!reduced.ok()) {
        reduced = verification_.tools.tasks.Reduce(verification_.task, RequestOf(each),
                                                   verification_.options.work);
      }
      if (!reduced.ok()) {
        left_out.push_back(each.name);
        continue;
      }
      // Two configurations may be one when they are reduced.
      if (!names.insert(reduced->name).second) continue;
      reduced->group = kDrawnGroup;
      extras_.push_back({*std::move(reduced), "a configuration of the task", /*listed=*/true});
      ++listed_;
    }
    if (left_out.empty()) return;
    constexpr size_t kMostNames = 8;
    const size_t more = left_out.size() - std::min(left_out.size(), kMostNames);
    left_out.resize(left_out.size() - more);
    stage_.Note({.kind = FindingKind::kNotJudged,
                 .message = fmt::format("configurations of the task that were not judged: {}{}",
                                        fmt::join(left_out, "; "),
                                        more > 0 ? fmt::format(" and {} more", more) : "")});
  }

  void AddDrawn() {
    // From the half of the seed that stays for a day: PyTorch need not start for a second verdict.
    const Result<DrawnConfigurations> drawn = verification_.tools.tasks.Draw(
        verification_.task, RequestOf({}), verification_.DrawSecret(SeedStream::kDrawnShapes), {});
    // A task that can't be looked at without data has only what it lists.
    if (!drawn.ok()) return;
    for (const TaskConfiguration& each : drawn->shapes) extras_.push_back({each, "drawn sizes"});
    for (const auto& each : drawn->scalars) {
      extras_.push_back({.configuration = each.configuration,
                         .what = fmt::format("another value of {}", fmt::join(each.names, ", ")),
                         .scalars = true});
    }
    for (const TaskConfiguration& each : drawn->many_rows) extras_.push_back({each, "many rows"});
  }

  bool Decides(const Extra& extra) const { return extra.listed || drawn_decide_; }

  // A finding at `extra`: it decides, or says what a task with one shape does not ask for.
  void Take(Finding finding, const Extra& extra) {
    if (Decides(extra)) {
      finding.message =
          fmt::format("{} (at {}, {})", finding.message, extra.configuration.name, extra.what);
      stage_.Add(VerdictKind::kRefuted, std::move(finding));
      return;
    }
    if (noted_) return;
    noted_ = true;
    finding.message = fmt::format("wrong at other shapes: {} ({}): {}", extra.configuration.name,
                                  extra.what, finding.message);
    stage_.Note(std::move(finding));
  }

  Status Prepare(const Extra& extra) {
    StageResult own;
    Result<std::unique_ptr<TracedShape>> traced =
        verification_.PrepareRequest(RequestOf(extra.configuration), own);
    // Where PyTorch itself has no answer there is no question.
    if (!traced.ok()) return {};
    for (Finding& finding : own.findings) {
      if (finding.weight != Weight::kDecides) continue;
      if (finding.kind == FindingKind::kException && !extra.listed) {
        refused_.emplace_back(extra.configuration.name, finding.message);
      } else if (own.kind == VerdictKind::kRefuted) {
        Take(std::move(finding), extra);
      } else {
        stage_.Note({.kind = FindingKind::kNotJudged,
                     .message = fmt::format("not judged at {} ({}): {}", extra.configuration.name,
                                            extra.what, finding.message)});
      }
    }
    if (*traced == nullptr || own.Ended()) return {};
    NotePlan(verification_, (*traced)->plan(), stage_);
    if (Decides(extra)) CheckOutputs((*traced)->plan(), stage_);
    if (stage_.Ended()) return {};
    if (ThreadsOf((*traced)->plan()) > kMostThreads) {
      // Nobody looks at the results, so that a launch that failed must be told here.
      if (const auto& launch = (*traced)->call->cleared_launch) {
        Take(
            {.kind = FindingKind::kLaunchError, .message = launch->message, .where = launch->where},
            extra);
      }
      return {};
    }
    KS_TRY(std::optional<Case> sample, CaseOf(**traced));
    if (!sample) return {};
    jobs_.push_back({traced->get(), *std::move(sample), {}});
    job_extras_.push_back(&extra);
    shapes_.push_back(*std::move(traced));
    return {};
  }

  // Values in an order that nobody knows; where PyTorch is needed for the results, the draw that
  // is in the cache. Nothing: the task has no finite answer there.
  Result<std::optional<Case>> CaseOf(const TracedShape& traced) {
    if (traced.evaluated_here) {
      return verification_.MakeCase(traced, "redrawn",
                                    verification_.Secret(SeedStream::kDrawnValues, jobs_.size()));
    }
    if (!HasFiniteResults(traced.seen, traced.task.AllResults())) return std::optional<Case>();
    return std::optional<Case>(Case{.seed = kSeenSeed, .tensors = traced.seen});
  }

  void Conclude(CaseOutcome& outcome, const Extra& extra) {
    // What can't decide is no part of what was shown.
    auto& numbers = verification_.verdict.proof.numbers;
    if (Decides(extra))
      numbers.insert(numbers.end(), outcome.numbers.begin(), outcome.numbers.end());
    for (Objection& each : outcome.objections) {
      // What is supported at the task's own shapes and right there is not unsupported by this.
      if (each.kind != VerdictKind::kRefuted) continue;
      if (each.finding.kind != FindingKind::kWrongValue || each.gross) {
        Take(std::move(each.finding), extra);
        continue;
      }
      each.finding.kind = FindingKind::kUnstable;
      each.finding.message =
          fmt::format("right at the task's shapes, less so at {} ({}): {}",
                      extra.configuration.name, extra.what, each.finding.message);
      stage_.Warn(std::move(each.finding));
    }
  }

  // A candidate may say that it is for less than the task: whoever uses it hears of it.
  void NoteRefused() {
    if (refused_.empty() || stage_.Ended()) return;
    stage_.Note({.kind = FindingKind::kException,
                 .message = fmt::format("narrowing: it refuses {} of {} drawn configurations, {} "
                                        "for one ({})",
                                        refused_.size(), extras_.size() - listed_,
                                        refused_[0].first, refused_[0].second)});
  }

  Verification& verification_;
  const bool single_;        // the task lists one configuration, which says little of others
  const bool drawn_decide_;  // what is wrong at a drawn configuration refutes
  StageResult stage_;
  std::vector<Extra> extras_;
  size_t listed_ = 0;  // of them
  std::vector<std::unique_ptr<TracedShape>> shapes_;
  std::vector<CaseJob> jobs_;
  std::vector<const Extra*> job_extras_;                      // by the number of the job
  std::vector<std::pair<std::string, std::string>> refused_;  // configuration, what it said
  bool noted_ = false;
};

}  // namespace

Result<StageResult> DrawnStage(Verification& verification) {
  if (verification.options.policy.shapes == VerifyPolicy::Shapes::kExact) {
    return StageResult::Skipped("--shapes exact");
  }
  return Drawing(verification).Run();
}

}  // namespace kernelsmith
