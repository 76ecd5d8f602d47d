#include <fmt/format.h>

#include <algorithm>

#include "algebra/equivalence.h"
#include "candidate/call.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// Work of a shape whose shadows take about a second.
constexpr uint64_t kAffordable = 1'000'000;
constexpr uint64_t kFew = 64;  // elements: below, there is nothing to sum
// Float inputs tried when the algebra differs, before we say that the effect is small.
constexpr int kAttempts = 3;

uint64_t Elements(const TracedShape& traced) {
  uint64_t count = 0;
  for (const TensorSpec& tensor : traced.task.tensors) {
    count += static_cast<uint64_t>(ElementCount(tensor.shape).value_or(0));
  }
  return count;
}

// The most expensive shape that is affordable, or the cheapest there is.
TracedShape* Choose(const Verification& verification) {
  TracedShape* best = nullptr;
  for (const auto& each : verification.shapes) {
    if (each == nullptr || Elements(*each) < kFew) continue;
    if (best == nullptr) {
      best = each.get();
      continue;
    }
    const bool fits = each->work <= kAffordable;
    const bool best_fits = best->work <= kAffordable;
    if (fits != best_fits ? fits : fits == (each->work > best->work)) {
      best = each.get();
    }
  }
  return best != nullptr ? best : verification.shapes[0].get();
}

void TensorNames(const std::vector<TaskArgument>& arguments, std::vector<std::string>* names) {
  for (const TaskArgument& each : arguments) {
    if (each.kind == TaskArgument::Kind::kTensor) names->push_back(each.text);
    if (each.kind == TaskArgument::Kind::kList) TensorNames(each.items, names);
  }
}

// Floats on which the difference shows. Nothing: the effect stays below `worst` scales.
Status SearchCounterexample(Verification& verification, const TracedShape& traced, double* worst,
                            StageResult& stage) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    for (const Recipe& recipe : Recipes()) {
      const std::string inputs(recipe.name);
      const uint64_t draw = static_cast<uint64_t>(attempt) * Recipes().size() +
                            static_cast<uint64_t>(&recipe - Recipes().data());
      KS_TRY(const std::optional<Case> sample,
             verification.MakeCase(
                 traced, inputs,
                 verification.CaseSecret(traced, inputs, SeedStream::kAlgebraSearch, draw)));
      if (!sample) continue;
      KS_TRY(CaseOutcome outcome, verification.Judge(traced, *sample));
      for (const NumbersChecked& row : outcome.numbers) {
        if (!recipe.harsh) *worst = std::max(*worst, row.worst);
      }
      for (Objection& each : outcome.objections) {
        // The algebra has shown that this is not rounding: any error beyond it counts.
        if (each.kind != VerdictKind::kRefuted) continue;
        each.finding.message += ", and the algebra differs from PyTorch's";
        stage.Add(VerdictKind::kRefuted, std::move(each.finding));
        return {};
      }
    }
  }
  return {};
}

}  // namespace

Result<StageResult> AlgebraStage(Verification& verification) {
  AlgebraProof& proof = verification.verdict.proof.algebra;
  if (!verification.options.algebra) return StageResult::Skipped("not asked for");
  StageResult stage;
  const auto inconclusive = [&](const std::string& reason) {
    proof.outcome = "inconclusive";
    proof.reason = reason;
    stage.note = "inconclusive: " + reason;
    return stage;
  };
  const TracedShape& traced = *Choose(verification);
  const Result<std::string> ptx = verification.candidate.VisibleMath();
  if (!ptx.ok()) return inconclusive(ptx.error().message());

  // Two sets of floats, so that what a near tie hides in one shows in the other.
  std::vector<CaseTensors> tensors = {traced.seen};
  KS_TRY(std::optional<Case> other,
         verification.MakeCase(
             traced, "redrawn",
             verification.CaseSecret(traced, "redrawn", SeedStream::kAlgebraRedrawn)));
  if (other) tensors.push_back(std::move(other->tensors));
  std::vector<std::vector<CallArgument>> arguments;
  EquivalenceRequest request{.graph = &traced.graph,
                             .plan = &traced.plan(),
                             .ptx = *ptx,
                             .ptx_name = verification.compiled().ptx_path.string(),
                             .input_names = {},
                             .results = traced.task.results,
                             .mutated = traced.task.mutated,
                             .draws = {}};
  TensorNames(traced.task.arguments, &request.input_names);
  for (const CaseTensors& each : tensors) {
    KS_TRY(std::vector<CallArgument> made, MakeCallArguments(traced.task, each));
    arguments.push_back(std::move(made));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    request.draws.push_back({.inputs = FlattenTensors(arguments[i]),
                             .values = &tensors[i].values,
                             .seed = verification.Secret(SeedStream::kAlgebraFields, i)});
  }
  const Result<EquivalenceReport> compared = CompareWithGraph(request, verification.tools.device);
  if (!compared.ok()) return inconclusive(compared.error().message());
  const EquivalenceReport& report = *compared;
  proof.draws = static_cast<int>(report.draws);
  proof.bound = report.bound ? fmt::format("{:.1e}", *report.bound) : "heuristic";
  proof.assumptions = report.assumptions;
  proof.configurations = {traced.request.configuration.name};
  uint64_t different = 0;
  for (const OutputEquivalence& output : report.outputs) {
    proof.proved += static_cast<uint64_t>(output.equal);
    different += static_cast<uint64_t>(output.different);
    proof.elements += static_cast<uint64_t>(output.equal + output.different + output.inconclusive);
  }
  if (report.proved()) {
    proof.outcome = "equal";
    stage.note =
        fmt::format("{} elements equal at {}", proof.proved, traced.request.configuration.name);
    return stage;
  }
  if (report.verdict != Equality::kDifferent) return inconclusive(report.reason);
  proof.outcome = "different";
  proof.reason = report.reason;
  double worst = 0;
  KS_RETURN_IF_ERROR(SearchCounterexample(verification, traced, &worst, stage));
  if (stage.Ended()) return stage;
  stage.Add(
      VerdictKind::kInconclusive,
      {.kind = FindingKind::kAlgebraicallyDifferent,
       .message = fmt::format("{} of {} elements are not the same algebra as PyTorch's ({}); no "
                              "inputs were found on which it shows: effect below {:.2g} of the "
                              "tolerance",
                              different, proof.elements, report.reason, worst / kLimit)});
  return stage;
}

}  // namespace kernelsmith
