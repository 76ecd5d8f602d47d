#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "verify/case_jobs.h"
#include "verify/maxima.h"
#include "verify/stability.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// Elements of a shape that has no sums and no neighbours.
constexpr uint64_t kFew = 64;

uint64_t InputElements(const TracedShape& traced) {
  uint64_t count = 0;
  for (const TensorSpec& tensor : traced.task.tensors) {
    count += static_cast<uint64_t>(ElementCount(tensor.shape).value_or(0));
  }
  return count;
}

// The same defect at the smallest configuration that shows it.
Status Shrink(Verification& verification, Finding& finding, const TracedShape& found) {
  if (!finding.counterexample ||
      verification.options.policy.shapes == VerifyPolicy::Shapes::kExact) {
    return {};
  }
  // Two smaller shapes at most: a refutation should come fast.
  constexpr size_t kTries = 2;
  const uint64_t size = InputElements(found);
  std::vector<TracedShape*> smaller;
  // What tracing says of a smaller shape is that shape's business, not this finding's.
  StageResult ignored;
  for (size_t i = 0; i < verification.configurations.size() && smaller.size() < kTries; ++i) {
    const Result<TracedShape*> traced = verification.Prepare(i, ignored);
    if (traced.ok() && *traced != nullptr && InputElements(**traced) < size) {
      smaller.push_back(*traced);
    }
  }
  std::sort(smaller.begin(), smaller.end(), [](const TracedShape* a, const TracedShape* b) {
    return InputElements(*a) < InputElements(*b);
  });
  for (TracedShape* traced : smaller) {
    const Counterexample& example = *finding.counterexample;
    KS_TRY(const std::optional<Case> sample,
           verification.MakeCase(*traced, example.inputs, example.seed));
    if (!sample) continue;
    const Result<CaseOutcome> outcome = verification.Judge(*traced, *sample);
    if (!outcome.ok()) continue;
    for (const Objection& each : outcome->objections) {
      if (each.kind != VerdictKind::kRefuted || each.finding.kind != finding.kind) continue;
      finding = each.finding;
      return {};
    }
  }
  return {};
}

// Adds what the jobs showed. Wrong on the task's own inputs is wrong; on mild ones if it is more
// than rounding; on harsh ones it is instability, unless the kernel's own rounding can't explain it
// or the options say that they decide.
Status Conclude(Verification& verification, std::vector<CaseJob>& jobs, StageResult& stage) {
  const bool structured_decide =
      verification.options.policy.inputs == VerifyPolicy::Inputs::kStructured;
  for (CaseJob& job : jobs) {
    if (!job.outcome) continue;
    if (!job.outcome->ok()) return std::move(*job.outcome).error();
    CaseOutcome& outcome = **job.outcome;
    auto& numbers = verification.verdict.proof.numbers;
    numbers.insert(numbers.end(), outcome.numbers.begin(), outcome.numbers.end());
    for (Objection& each : outcome.objections) {
      const bool task_inputs = job.sample.inputs == "task";
      if (each.kind != VerdictKind::kRefuted) {
        // Ties are made by these recipes: what they show of choices among equals is nothing.
        if (task_inputs || each.finding.kind != FindingKind::kSeveralAnswers) {
          stage.Add(each.kind, std::move(each.finding));
        }
        continue;
      }
      const bool fault = each.finding.kind != FindingKind::kWrongValue;
      bool decides = task_inputs || structured_decide || fault || (!job.sample.harsh && each.gross);
      if (!decides && each.gross) {
        KS_TRY(decides, ComputesSomethingElse(verification, *job.traced, job.sample));
        if (decides) each.finding.message += ", more than any rounding in this kernel";
      }
      if (decides) {
        KS_RETURN_IF_ERROR(Shrink(verification, each.finding, *job.traced));
        stage.Add(VerdictKind::kRefuted, std::move(each.finding));
      } else {
        each.finding.kind = FindingKind::kUnstable;
        each.finding.message = fmt::format(
            "right on the task's inputs, but not on '{}' ones ({}): off by {:.3g} times what "
            "rounding explains",
            job.sample.inputs, FindRecipe(job.sample.inputs)->what,
            each.finding.counterexample->scales / kLimit);
        stage.Warn(std::move(each.finding));
      }
    }
    if (stage.Ended()) return {};
  }
  return {};
}

// Structured inputs: every recipe at the cheapest shape that has something to sum, the others as
// far as the budget goes.
Status Structured(Verification& verification,
                  const std::vector<std::pair<TracedShape*, uint64_t>>& by_cost,
                  std::vector<std::string>* done, StageResult& stage) {
  uint64_t left = verification.options.structured_budget;
  uint64_t draw = 0;
  for (size_t round = 0; round < by_cost.size(); ++round) {
    const auto& [traced, cost] = by_cost[round];
    // The largest shape is for what depends on sizes; values were varied at the others.
    if (round > 0 && traced->request.configuration.group == "timing") continue;
    std::vector<CaseJob> jobs;
    for (const Recipe& recipe : Recipes()) {
      ++draw;
      if (recipe.spikes) continue;
      // Harsh ones everywhere would cost time and show nothing more. Where there are few elements
      // some threads have none, and what they have instead shows beside large numbers.
      const bool few = recipe.numbers && InputElements(*traced) < kFew;
      if (recipe.harsh && round > 0 && !few) continue;
      if (cost > left && (round > 0 || jobs.size() >= 4)) continue;
      if (!Applies(recipe, traced->seen.values, verification.Inputs(*traced),
                   recipe.numbers ? verification.KernelNumbers() : std::vector<double>())) {
        continue;
      }
      const std::string inputs(recipe.name);
      KS_TRY(std::optional<Case> sample,
             verification.MakeCase(
                 *traced, inputs,
                 verification.CaseSecret(*traced, inputs, SeedStream::kStructured, draw)));
      if (!sample) {
        auto& outside = verification.verdict.proof.outside_domain;
        if (std::find(outside.begin(), outside.end(), recipe.name) == outside.end()) {
          outside.emplace_back(recipe.name);
        }
        continue;
      }
      left -= std::min(left, cost);
      if (std::find(done->begin(), done->end(), recipe.name) == done->end()) {
        done->emplace_back(recipe.name);
      }
      jobs.push_back({traced, *std::move(sample), {}});
    }
    // Harsh failures do not end the batch's meaning, so it runs in two halves.
    std::vector<CaseJob> harsh;
    for (auto job = jobs.begin(); job != jobs.end();) {
      if (job->sample.harsh) {
        harsh.push_back(std::move(*job));
        job = jobs.erase(job);
      } else {
        ++job;
      }
    }
    RunJobs(verification, jobs);
    KS_RETURN_IF_ERROR(Conclude(verification, jobs, stage));
    if (stage.Ended()) return {};
    RunJobs(verification, harsh);
    KS_RETURN_IF_ERROR(Conclude(verification, harsh, stage));
    if (stage.Ended()) return {};
  }
  return {};
}

// A result that is not finite though the task's is.
const Objection* Overflow(const CaseOutcome& outcome) {
  for (const Objection& each : outcome.objections) {
    if (each.kind == VerdictKind::kRefuted && each.finding.kind == FindingKind::kWrongValue &&
        each.finding.counterexample && !std::isfinite(each.finding.counterexample->got)) {
      return &each;
    }
  }
  return nullptr;
}

// A wrong maximum in a softmax. Without any a kernel overflows wherever the spike is, and that is
// instability; one that is right for some places of the spike and overflows for others has a
// maximum that leaves some out.
Status Spikes(Verification& verification,
              const std::vector<std::pair<TracedShape*, uint64_t>>& by_cost, StageResult& stage) {
  if (!HasSoftmax(by_cost.front().first->graph)) return {};
  uint64_t left = verification.options.structured_budget;
  uint64_t draw = 0;
  for (const auto& [traced, cost] : by_cost) {
    std::vector<CaseJob> jobs;
    for (const Recipe& recipe : Recipes()) {
      ++draw;
      if (!recipe.spikes || cost > left) continue;
      const std::string inputs(recipe.name);
      KS_TRY(std::optional<Case> sample,
             verification.MakeCase(
                 *traced, inputs,
                 verification.CaseSecret(*traced, inputs, SeedStream::kSpikes, draw)));
      if (!sample) continue;
      left -= std::min(left, cost);
      jobs.push_back({traced, *std::move(sample), {}});
    }
    RunJobs(verification, jobs, /*all=*/true);
    const Objection* overflow = nullptr;
    bool subtracts = false;
    for (const CaseJob& job : jobs) {
      if (!job.outcome->ok()) return job.outcome->error();
      const CaseOutcome& outcome = **job.outcome;
      if (const Objection* found = Overflow(outcome)) overflow = found;
      subtracts |=
          outcome.objections.empty() && NeedsMaxima(traced->graph, job.sample.tensors.values);
    }
    if (overflow != nullptr && subtracts) {
      Finding finding = overflow->finding;
      finding.message +=
          "; it subtracts a maximum, but not of all elements: where the largest "
          "value is elsewhere, the result is right";
      stage.Add(VerdictKind::kRefuted, std::move(finding));
      return {};
    }
    // Next to such values a small error is nobody's fault.
    for (CaseJob& job : jobs) {
      std::erase_if((*job.outcome)->objections, [](const Objection& each) {
        return each.finding.kind == FindingKind::kWrongValue && !each.gross;
      });
    }
    KS_RETURN_IF_ERROR(Conclude(verification, jobs, stage));
    if (stage.Ended()) return {};
  }
  return {};
}

}  // namespace

Result<StageResult> NumbersStage(Verification& verification) {
  StageResult stage;
  std::vector<std::pair<TracedShape*, uint64_t>> by_cost;
  const auto run = [&](std::vector<CaseJob>& jobs) -> Status {
    RunJobs(verification, jobs);
    KS_RETURN_IF_ERROR(Conclude(verification, jobs, stage));
    for (const CaseJob& job : jobs) {
      const bool known = std::any_of(by_cost.begin(), by_cost.end(),
                                     [&](const auto& each) { return each.first == job.traced; });
      if (!known && job.outcome && job.outcome->ok()) {
        by_cost.emplace_back(job.traced, job.traced->work);
      }
    }
    return {};
  };
  // What needs no PyTorch comes first, so that a wrong candidate is refuted before it has started:
  // the draws that the host code saw (wrong on these is wrong), then structured inputs.
  std::vector<CaseJob> jobs;
  std::set<std::string> shapes;
  for (size_t i = 0; i < verification.configurations.size();) {
    const Result<TracedShape*> prepared = verification.Prepare(i, stage);
    // A shape for timing may be too much for PyTorch: the others were not.
    if (!prepared.ok() && (verification.configurations[i].group != "timing" || i == 0)) {
      return prepared.error();
    }
    // The two ways to reduce a shape may come to the same.
    if (!prepared.ok() ||
        (*prepared != nullptr && !shapes.insert((*prepared)->request.configuration.name).second)) {
      verification.configurations.erase(verification.configurations.begin() +
                                        static_cast<ptrdiff_t>(i));
      verification.shapes.erase(verification.shapes.begin() + static_cast<ptrdiff_t>(i));
      continue;
    }
    TracedShape* traced = *prepared;
    if (traced == nullptr) return stage;
    ++i;
    if (i > 1) {
      NotePlan(verification, traced->plan(), stage);
      CheckOutputs(traced->plan(), stage);
    }
    if (stage.Ended()) return stage;
    jobs.push_back({traced, Case{.seed = kSeenSeed, .tensors = traced->seen}, {}});
    // The quick shape alone shows most of what is wrong.
    if (i > 1) continue;
    KS_RETURN_IF_ERROR(run(jobs));
    if (stage.Ended()) return stage;
    jobs.clear();
  }
  KS_RETURN_IF_ERROR(run(jobs));
  if (stage.Ended()) return stage;
  // A shape with a handful of elements has no sums and no neighbours, one for timing gets more room
  // for its long sums: they come last.
  const auto last = [](const TracedShape& traced) {
    return InputElements(traced) < kFew || traced.request.configuration.group == "timing";
  };
  std::sort(by_cost.begin(), by_cost.end(), [&](const auto& a, const auto& b) {
    const bool last_a = last(*a.first);
    const bool last_b = last(*b.first);
    const std::string& name_a = a.first->request.configuration.name;
    const std::string& name_b = b.first->request.configuration.name;
    return std::tie(last_a, a.second, name_a) < std::tie(last_b, b.second, name_b);
  });
  std::vector<std::string> recipes;
  KS_RETURN_IF_ERROR(Structured(verification, by_cost, &recipes, stage));
  if (stage.Ended()) return stage;
  KS_RETURN_IF_ERROR(Spikes(verification, by_cost, stage));
  if (stage.Ended()) return stage;
  // PyTorch's own draws from secret seeds.
  jobs.clear();
  for (size_t i = 0; i < verification.configurations.size(); ++i) {
    KS_TRY(TracedShape * traced, verification.Prepare(i, stage));
    const auto draws = static_cast<uint64_t>(i == 0 ? verification.options.draws : 1);
    for (uint64_t draw = 0; draw < draws; ++draw) {
      KS_TRY(std::optional<Case> sample, verification.DrawnCase(i, draw));
      if (!sample) continue;
      jobs.push_back({traced, *std::move(sample), {}});
    }
  }
  KS_RETURN_IF_ERROR(run(jobs));
  if (stage.Ended()) return stage;
  stage.note =
      fmt::format("{} shapes, {} kinds of structured inputs", by_cost.size(), recipes.size());
  return stage;
}

}  // namespace kernelsmith
