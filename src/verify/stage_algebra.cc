#include <fmt/format.h>

#include <algorithm>

#include "algebra/equivalence.h"
#include "verify/arguments.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// Work of a shape whose shadows take about a second.
constexpr uint64_t kAffordable = 1'000'000;
constexpr uint64_t kFew = 64;  // elements: below, there is nothing to sum
// Float inputs tried when the algebra differs, before we say that the effect is small.
constexpr int kAttempts = 3;

uint64_t Elements(const TracedShape& subject) {
  uint64_t count = 0;
  for (const TensorSpec& tensor : subject.task.tensors) {
    count += static_cast<uint64_t>(ElementCount(tensor.shape).value_or(0));
  }
  return count;
}

// The dearest shape that is affordable, or the cheapest there is.
TracedShape* Choose(const Verification& verification) {
  TracedShape* best = nullptr;
  for (const auto& each : verification.subjects) {
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
  return best != nullptr ? best : verification.subjects[0].get();
}

void TensorNames(const std::vector<TaskArgument>& arguments, std::vector<std::string>* names) {
  for (const TaskArgument& each : arguments) {
    if (each.kind == TaskArgument::Kind::kTensor) names->push_back(each.text);
    if (each.kind == TaskArgument::Kind::kList) TensorNames(each.items, names);
  }
}

// Floats on which the difference shows. Nothing: the effect stays below `worst` scales.
Status SearchCounterexample(Verification& verification, const TracedShape& subject, double* worst) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    for (const Recipe& recipe : Recipes()) {
      const std::string inputs(recipe.name);
      const uint64_t stream = 5000 + static_cast<uint64_t>(attempt) * 100 +
                              static_cast<uint64_t>(&recipe - Recipes().data());
      KS_TRY(
          const std::optional<Case> sample,
          verification.MakeCase(subject, inputs, verification.CaseSecret(subject, inputs, stream)));
      if (!sample) continue;
      KS_TRY(CaseOutcome outcome, verification.Judge(subject, *sample));
      for (const NumbersChecked& row : outcome.numbers) {
        if (!recipe.harsh) *worst = std::max(*worst, row.worst);
      }
      for (Objection& each : outcome.objections) {
        // The algebra has shown that this is not rounding: any error beyond it counts.
        if (each.kind != VerdictKind::kRefuted) continue;
        each.finding.message += ", and the algebra differs from PyTorch's";
        verification.Add(VerdictKind::kRefuted, std::move(each.finding));
        return {};
      }
    }
  }
  return {};
}

}  // namespace

Status AlgebraStage(Verification& verification) {
  AlgebraProof& proof = verification.verdict.proof.algebra;
  if (!verification.options.algebra) {
    verification.skipped = true;
    verification.note = "not asked for";
    return {};
  }
  const auto inconclusive = [&](const std::string& reason) -> Status {
    proof.outcome = "inconclusive";
    proof.reason = reason;
    verification.note = "inconclusive: " + reason;
    return {};
  };
  const TracedShape& subject = *Choose(verification);
  const Result<std::string> ptx = verification.tools.compiler.CompileVisibleMath(
      verification.compiled, verification.options.compile);
  if (!ptx.ok()) return inconclusive(ptx.error().message());

  // Two sets of floats, so that what a near tie hides in one shows in the other.
  std::vector<CaseTensors> tensors = {subject.seen};
  KS_TRY(
      std::optional<Case> other,
      verification.MakeCase(subject, "redrawn", verification.CaseSecret(subject, "redrawn", 6000)));
  if (other) tensors.push_back(std::move(other->tensors));
  std::vector<std::vector<CallArgument>> arguments;
  EquivalenceRequest request{.graph = &subject.graph,
                             .plan = &subject.plan,
                             .ptx = *ptx,
                             .ptx_name = verification.compiled.ptx_path.string(),
                             .input_names = {},
                             .results = subject.task.results,
                             .mutated = subject.task.mutated,
                             .draws = {}};
  TensorNames(subject.task.arguments, &request.input_names);
  for (const CaseTensors& each : tensors) {
    KS_TRY(std::vector<CallArgument> made, MakeCallArguments(subject.task, each));
    arguments.push_back(std::move(made));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    request.draws.push_back({.inputs = FlattenTensors(arguments[i]),
                             .values = &tensors[i].values,
                             .seed = verification.Secret(6100 + i)});
  }
  const Result<EquivalenceReport> compared = CompareWithGraph(request, verification.tools.device);
  if (!compared.ok()) return inconclusive(compared.error().message());
  const EquivalenceReport& report = *compared;
  proof.draws = static_cast<int>(report.draws);
  proof.bound = report.bound ? fmt::format("{:.1e}", *report.bound) : "heuristic";
  proof.assumptions = report.assumptions;
  proof.configurations = {subject.request.configuration.name};
  uint64_t different = 0;
  for (const OutputEquivalence& output : report.outputs) {
    proof.proved += static_cast<uint64_t>(output.equal);
    different += static_cast<uint64_t>(output.different);
    proof.elements += static_cast<uint64_t>(output.equal + output.different + output.inconclusive);
  }
  if (report.proved()) {
    proof.outcome = "equal";
    verification.note =
        fmt::format("{} elements equal at {}", proof.proved, subject.request.configuration.name);
    return {};
  }
  if (report.verdict != Equality::kDifferent) return inconclusive(report.reason);
  proof.outcome = "different";
  proof.reason = report.reason;
  double worst = 0;
  KS_RETURN_IF_ERROR(SearchCounterexample(verification, subject, &worst));
  if (verification.Ended()) return {};
  verification.Add(
      VerdictKind::kInconclusive,
      {.kind = FindingKind::kAlgebraicallyDifferent,
       .message = fmt::format("{} of {} elements are not the same algebra as PyTorch's ({}); no "
                              "inputs were found on which it shows: effect below {:.2g} of the "
                              "tolerance",
                              different, proof.elements, report.reason, worst / kLimit)});
  return {};
}

}  // namespace kernelsmith
