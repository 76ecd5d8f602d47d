#include "verify/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "algebra/equivalence.h"
#include "support/demangle.h"
#include "support/rng.h"
#include "verify/inputs.h"
#include "verify/oracle.h"
#include "verify/verification.h"

namespace kernelsmith {
namespace {

// More than any order of summation makes of float32.
constexpr double kGross = 1e-3;

struct Side {
  Candidate& candidate;
  std::shared_ptr<const TracedCall> call = nullptr;  // it has a plan

  const Plan& plan() const { return *call->plan; }
};

class Comparer {
 public:
  Comparer(Candidate& old_candidate, Candidate& new_candidate,
           const std::vector<CallArgument>& arguments, const CompareOptions& options,
           const CompareTools& tools)
      : arguments_(arguments),
        options_(options),
        tools_(tools),
        old_{old_candidate},
        new_{new_candidate} {
    verdict_.kind = VerdictKind::kVerified;
    verdict_.direction = options.function;
    verdict_.dtype = "given";
    verdict_.seed = options.seed;
  }

  Result<Verdict> Run() {
    const Clock::Duration start = tools_.clock.Now();
    verdict_.task = old_.candidate.path().string();
    verdict_.candidate = new_.candidate.path().string();
    FillTensors();
    KS_RETURN_IF_ERROR(Compile());
    if (!Ended()) KS_RETURN_IF_ERROR(Trace());
    if (!Ended()) KS_RETURN_IF_ERROR(Numbers());
    if (!Ended()) KS_RETURN_IF_ERROR(Algebraically());
    verdict_.seconds = std::chrono::duration<double>(tools_.clock.Now() - start).count();
    return std::move(verdict_);
  }

 private:
  bool Ended() const { return verdict_.kind != VerdictKind::kVerified; }
  void Add(VerdictKind kind, Finding finding) {
    verdict_.kind = kind;
    verdict_.findings.push_back(std::move(finding));
  }

  void Add(const CandidateProblem& problem) {
    Add(problem.verdict,
        {.kind = problem.kind, .message = problem.message, .where = problem.where});
  }

  // The old one is the reference: what keeps it from running is the caller's error.
  static Error OldFails(const CandidateProblem& problem) {
    return {ErrorKind::kInvalidInput,
            Diagnostic{.where = problem.where,
                       .message = "the old candidate can't be run: " + problem.message}};
  }

  Status Compile() {
    KS_TRY(const std::vector<CandidateProblem> of_old, old_.candidate.Compile());
    if (!of_old.empty()) return OldFails(of_old.front());
    KS_TRY(const std::vector<CandidateProblem> of_new, new_.candidate.Compile());
    if (!of_new.empty()) Add(of_new.front());
    return {};
  }

  void FillTensors() {
    Rng rng(options_.seed);
    for (CallArgument& argument : arguments_) {
      if (argument.kind != CallArgument::Kind::kTensor) continue;
      HostTensor& tensor = argument.tensor;
      for (int64_t i = 0; i < tensor.count() && !options_.keep_values; ++i) {
        tensor.set(i, IsFloat(tensor.dtype) ? rng.Normal() : static_cast<double>(rng.Below(2)));
      }
      base_[argument.name] = tensor;
      names_.push_back({.name = argument.name});
    }
  }

  std::vector<CallArgument> With(const TensorMap& values) const {
    std::vector<CallArgument> arguments = arguments_;
    for (CallArgument& argument : arguments) {
      if (const auto found = values.find(argument.name); found != values.end()) {
        argument.tensor = found->second;
      }
    }
    return arguments;
  }

  Status Trace() {
    CandidateCall call{.function = options_.function, .arguments = arguments_, .results = {}};
    for (Side* side : {&old_, &new_}) {
      KS_TRY(side->call, side->candidate.Trace(call));
      if (!side->call->plan) {
        const CandidateProblem& why = side->call->problems.front();
        if (side == &old_) return OldFails(why);
        Add(why);
        return {};
      }
      call.results = side->plan().outputs;
    }
    for (const PlanStep& step : new_.plan().steps) {
      if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
        verdict_.kernels.push_back(KernelName(launch->kernel));
      } else if (const auto* library = std::get_if<LibraryStep>(&step.action)) {
        verdict_.libraries.push_back(library->op);
      }
    }
    return {};
  }

  Result<RunOutcome> RunSide(const Side& side, const std::vector<CallArgument>& arguments,
                             uint64_t seed) const {
    const CompiledCandidate& compiled = side.candidate.compiled();
    return tools_.device.Run({.plan = &side.plan(),
                              .ptx = compiled.ptx,
                              .ptx_name = compiled.ptx_path.string(),
                              .inputs = FlattenTensors(arguments),
                              .preparation_inputs = {},
                              .poison_seed = seed | 1});
  }

  Status Numbers() {
    uint64_t stream = 0;
    for (const Recipe& recipe : Recipes()) {
      if (recipe.harsh || recipe.numbers) continue;
      const uint64_t seed = Rng(options_.seed).Fork(++stream).Next();
      const std::vector<CallArgument> arguments = With(
          MakeInputs(recipe, base_, names_, seed, {.permute_integers = !options_.keep_values}));
      KS_TRY(const RunOutcome reference, RunSide(old_, arguments, seed));
      KS_TRY(const RunOutcome run, RunSide(new_, arguments, seed));
      if (reference.failure) {
        return InvalidInput("the old candidate fails: " + reference.failure->message);
      }
      if (run.failure) {
        Add(VerdictKind::kRefuted, {.kind = run.failure->kind, .message = run.failure->message});
        return {};
      }
      if (run.outputs.size() != reference.outputs.size()) {
        Add(VerdictKind::kRefuted,
            {.kind = FindingKind::kWrongOutputCount,
             .message = fmt::format("returns {} tensors, the old one {}", run.outputs.size(),
                                    reference.outputs.size())});
        return {};
      }
      for (size_t i = 0; i < run.outputs.size(); ++i) {
        CompareOutput(recipe, seed, i, reference, run);
        if (Ended()) return {};
      }
    }
    return {};
  }

  void CompareOutput(const Recipe& recipe, uint64_t seed, size_t i, const RunOutcome& reference,
                     const RunOutcome& run) {
    const HostTensor& expected = reference.outputs[i];
    const HostTensor& got = run.outputs[i];
    const std::string name = fmt::format("output.{}", i);
    if (got.shape != expected.shape || got.dtype != expected.dtype) {
      Add(VerdictKind::kRefuted,
          {.kind = FindingKind::kWrongShape,
           .message = fmt::format("{} is {} {}, the old one's {} {}", name, DTypeName(got.dtype),
                                  FormatShape(got.shape), DTypeName(expected.dtype),
                                  FormatShape(expected.shape))});
      return;
    }
    double squares = 0;
    for (int64_t k = 0; k < expected.count(); ++k) {
      if (std::isfinite(expected.at(k))) squares += expected.at(k) * expected.at(k);
    }
    const double rms =
        expected.count() > 0 ? std::sqrt(squares / static_cast<double>(expected.count())) : 0;
    const double limit = std::max(kGross, 32 * UnitRoundoff(expected.dtype));
    Counterexample example{.configuration = "given",
                           .values = {},
                           .inputs = std::string(recipe.name),
                           .seed = seed,
                           .output = name};
    double worst = -1;
    for (int64_t k = 0; k < expected.count(); ++k) {
      const double a = expected.at(k), b = got.at(k);
      if (!std::isfinite(a)) continue;  // outside the domain of the old one
      const bool unwritten = run.unwritten[i][static_cast<size_t>(k)] &&
                             !reference.unwritten[i][static_cast<size_t>(k)];
      const double error = std::abs(a - b);
      if (!unwritten && error <= limit * std::max(std::abs(a), rms)) continue;
      ++example.wrong;
      if (error > worst || !std::isfinite(b)) {
        worst = error;
        example.index = IndexOf(static_cast<size_t>(k), expected.shape);
        example.expected = a;
        example.got = b;
      }
    }
    example.elements = static_cast<uint64_t>(expected.count());
    verdict_.proof.numbers.push_back({.configuration = "given",
                                      .inputs = std::string(recipe.name),
                                      .seed = seed,
                                      .output = name,
                                      .elements = example.elements});
    if (example.wrong == 0) return;
    Add(VerdictKind::kRefuted, {.kind = FindingKind::kWrongValue,
                                .message = fmt::format("{} differs from the old candidate's", name),
                                .counterexample = std::move(example)});
  }

  Status Algebraically() {
    AlgebraProof& proof = verdict_.proof.algebra;
    const Algebra algebra(Rng(options_.seed).Fork(77).Next());
    std::vector<SymbolicRun> runs;
    for (Side* side : {&old_, &new_}) {
      KS_TRY(const std::string ptx, side->candidate.VisibleMath());
      SymbolicRunRequest request{.plan = &side->plan(),
                                 .ptx = ptx,
                                 .ptx_name = side->candidate.compiled().ptx_path.string(),
                                 .inputs = FlattenTensors(arguments_),
                                 .first_input = {},
                                 .poison_seed = 1};
      uint64_t next = 0;
      for (const CallArgument* tensor : request.inputs) {
        request.first_input.push_back(next);
        next += static_cast<uint64_t>(tensor->tensor.count());
      }
      Result<SymbolicRun> run = RunSymbolically(request, algebra, tools_.device);
      if (!run.ok() || run->failure) {
        return Inconclusive(run.ok() ? run->failure->message : run.error().message());
      }
      runs.push_back(*std::move(run));
    }
    const AlgebraScope scope(&algebra);
    uint64_t different = 0;
    for (size_t i = 0; i < runs[0].outputs.size() && i < runs[1].outputs.size(); ++i) {
      for (int64_t k = 0; k < runs[0].outputs[i].count(); ++k) {
        const Comparison each = CompareValues(runs[0].outputs[i][k], runs[1].outputs[i][k]);
        ++proof.elements;
        proof.proved += each.equality == Equality::kEqual ? 1 : 0;
        different += each.equality == Equality::kDifferent ? 1 : 0;
      }
    }
    proof.draws = 1;
    proof.bound = "heuristic";
    if (proof.proved == proof.elements) {
      proof.outcome = "equal";
      return {};
    }
    if (different == 0) return Inconclusive("some elements could not be decided");
    proof.outcome = "different";
    proof.reason = fmt::format("{} of {} elements", different, proof.elements);
    Add(VerdictKind::kInconclusive,
        {.kind = FindingKind::kAlgebraicallyDifferent,
         .message = fmt::format("{} of {} elements are different algebra, with an effect below "
                                "{:g} of the values' size on all inputs tried",
                                different, proof.elements, kGross)});
    return {};
  }

  Status Inconclusive(std::string reason) {
    verdict_.proof.algebra.outcome = "inconclusive";
    verdict_.proof.algebra.reason = reason;
    Add(VerdictKind::kInconclusive,
        {.kind = FindingKind::kNotProved,
         .message = "equal as numbers on all inputs tried; no proof: " + std::move(reason)});
    return {};
  }

  std::vector<CallArgument> arguments_;
  const CompareOptions& options_;
  const CompareTools& tools_;
  TensorMap base_;
  std::vector<InputTensor> names_;
  Side old_;
  Side new_;
  Verdict verdict_;
};

}  // namespace

Result<CallArgument> ParseCallArgument(std::string_view text) {
  const auto bad = [&] {
    return InvalidInput(fmt::format(
        "'{}' is no argument: expected x=float32[32,256], eps=1e-5, k=4 or flag=true", text));
  };
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return bad();
  const std::string name(text.substr(0, equals));
  const std::string_view value = text.substr(equals + 1);
  if (value == "true" || value == "false") return CallArgument::Bool(name, value == "true");
  if (const size_t open = value.find('['); open != std::string_view::npos) {
    const auto dtype = ParseDType(value.substr(0, open));
    if (!dtype || !value.ends_with(']')) return bad();
    Shape shape;
    std::string_view dims = value.substr(open + 1, value.size() - open - 2);
    while (!dims.empty()) {
      int64_t size = 0;
      const auto [end, error] = std::from_chars(dims.data(), dims.data() + dims.size(), size);
      if (error != std::errc() || size < 0) return bad();
      shape.push_back(size);
      dims.remove_prefix(static_cast<size_t>(end - dims.data()));
      if (dims.starts_with(',')) {
        dims.remove_prefix(1);
      } else if (!dims.empty()) {
        return bad();
      }
    }
    // A typing error should not fill the memory.
    const auto count = ElementCount(shape);
    if (!count || *count > int64_t{1} << 28) return bad();
    return CallArgument::Tensor(name, MakeHostTensor(*dtype, std::move(shape)));
  }
  int64_t integer = 0;
  const char* first = value.data();
  const char* last = first + value.size();
  if (const auto [end, error] = std::from_chars(first, last, integer);
      error == std::errc() && end == last) {
    return CallArgument::Int(name, integer);
  }
  double number = 0;
  if (const auto [end, error] = std::from_chars(first, last, number);
      error == std::errc() && end == last) {
    return CallArgument::Float(name, number);
  }
  return bad();
}

Result<Verdict> CompareCandidates(Candidate& old_candidate, Candidate& new_candidate,
                                  const std::vector<CallArgument>& arguments,
                                  const CompareOptions& options, const CompareTools& tools) {
  return Comparer(old_candidate, new_candidate, arguments, options, tools).Run();
}

}  // namespace kernelsmith
