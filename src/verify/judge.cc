// Running a plan on one case and comparing all that came out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "candidate/call.h"
#include "verify/verification.h"
#include "verify/work.h"

namespace kernelsmith {
namespace {

bool AnyUnwritten(const RunOutcome& run) {
  return std::any_of(run.unwritten.begin(), run.unwritten.end(), [](const auto& flags) {
    return std::find(flags.begin(), flags.end(), true) != flags.end();
  });
}

class CaseJudge {
 public:
  CaseJudge(const Verification& verification, const TracedShape& traced, const Case& sample)
      : verification_(verification), traced_(traced), sample_(sample) {}

  Result<CaseOutcome> Run(const Plan& plan, const CaseTensors* earlier, Watch watch) {
    watch.schedule = sample_.schedule;
    KS_TRY(arguments_, MakeCallArguments(traced_.task, sample_.tensors));
    std::vector<CallArgument> earlier_arguments;
    if (earlier != nullptr) {
      KS_TRY(earlier_arguments, MakeCallArguments(traced_.task, *earlier));
    }
    const auto run = [&](uint64_t poison, const Watch& who) {
      const CompiledCandidate& compiled = verification_.compiled();
      return verification_.tools.device.RunWatched(
          {.plan = &plan,
           .ptx = compiled.ptx,
           .ptx_name = compiled.ptx_path.string(),
           .inputs = FlattenTensors(arguments_),
           .preparation_inputs = FlattenTensors(earlier_arguments),
           .poison_seed = poison,
           .layout = sample_.layout},
          who);
    };
    Result<WatchedRun> ran = run(sample_.seed | 1, watch);
    if (!ran.ok()) {
      if (ran.error().kind() != ErrorKind::kUnsupported) return ran.error();
      const Diagnostic& first = ran.error().diagnostics().front();
      Object(VerdictKind::kUnsupported,
             {.kind = FindingKind::kUnsupported, .message = first.message, .where = first.where});
      return std::move(outcome_);
    }
    // A result may be equal to its poison by chance, one in four billion: not twice.
    if (!ran->failure && AnyUnwritten(*ran)) {
      KS_TRY(const WatchedRun again,
             run((sample_.seed | 1) ^ 0xa5a5a5a5a4, {.schedule = sample_.schedule}));
      for (size_t i = 0; i < again.unwritten.size() && !again.failure; ++i) {
        for (size_t k = 0; k < again.unwritten[i].size(); ++k) {
          if (!again.unwritten[i][k]) ran->unwritten[i][k] = false;
        }
      }
    }
    outcome_.run = *std::move(ran);
    if (outcome_.run.failure) {
      Failed(outcome_.run);
      return std::move(outcome_);
    }
    CheckInputs();
    KS_RETURN_IF_ERROR(CheckOutputs());
    return std::move(outcome_);
  }

 private:
  void Object(VerdictKind kind, Finding finding, bool gross = true) {
    outcome_.objections.push_back({kind, std::move(finding), gross});
  }

  Counterexample Example() const {
    return {.configuration = traced_.request.configuration.name,
            .values = traced_.request.configuration.values,
            .inputs = sample_.inputs,
            .seed = sample_.seed};
  }

  void Failed(const WatchedRun& run) {
    if (!run.fault) {
      Object(VerdictKind::kRefuted, {.kind = run.failure->kind, .message = run.failure->message});
      return;
    }
    const vgpu::Fault& fault = *run.fault;
    // A kernel that only spins may be waiting for something that our time limit did not allow.
    const bool sure = fault.kind != vgpu::FaultKind::kNoProgress;
    Object(sure ? VerdictKind::kRefuted : VerdictKind::kInconclusive,
           {.kind = run.failure->kind,
            .message = FaultText(fault),
            .where = fault.source.file.empty() ? fault.ptx : fault.source,
            .counterexample = Example()});
  }

  void CheckInputs() {
    const std::vector<const CallArgument*> tensors = FlattenTensors(arguments_);
    const std::vector<bool>& changed = outcome_.run.input_changed;
    const auto& mutated = traced_.task.mutated;
    for (size_t i = 0; i < changed.size() && i < tensors.size(); ++i) {
      if (!changed[i]) continue;
      const std::string& name = tensors[i]->name;
      if (std::find(mutated.begin(), mutated.end(), "mutated." + name) != mutated.end()) continue;
      Object(VerdictKind::kRefuted,
             {.kind = FindingKind::kInputModified,
              .message = fmt::format("input '{}' was overwritten; the task leaves it alone", name),
              .counterexample = Example()});
    }
  }

  Status CheckOutputs() {
    const CaseTensors& tensors = sample_.tensors;
    KS_TRY(const std::vector<ExpectedOutput> expected,
           ExpectedOutputs(traced_.graph, tensors, traced_.task.results));
    const RunOutcome& run = outcome_.run;
    if (expected.size() != run.outputs.size()) {
      Object(VerdictKind::kRefuted, {.kind = FindingKind::kWrongOutputCount,
                                     .message = fmt::format("returned {} tensors, the task has {}",
                                                            run.outputs.size(), expected.size())});
      return {};
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      CheckOutput(expected[i], run.outputs[i], run.unwritten[i], traced_.usual_rms[i]);
    }
    KS_TRY(const std::vector<ExpectedOutput> mutated,
           ExpectedOutputs(traced_.graph, tensors, traced_.task.mutated));
    for (size_t i = 0; i < mutated.size(); ++i) {
      const HostTensor* after = InputAfter(mutated[i].name);
      if (after == nullptr) continue;
      CheckOutput(mutated[i], *after, {}, traced_.usual_rms[expected.size() + i]);
    }
    return {};
  }

  // The input tensor that "mutated.running_mean" speaks of.
  const HostTensor* InputAfter(const std::string& name) const {
    const std::vector<const CallArgument*> tensors = FlattenTensors(arguments_);
    for (size_t i = 0; i < tensors.size() && i < outcome_.run.inputs.size(); ++i) {
      if ("mutated." + tensors[i]->name == name) {
        return &kernelsmith::InputAfter(outcome_.run, *tensors[i], i);
      }
    }
    return nullptr;
  }

  // The order of a sum decides whether infinities of both signs meet in it.
  static HostTensor WithoutKinds(const ExpectedOutput& expected, const HostTensor& got) {
    HostTensor same = got;
    for (size_t k = 0; k < expected.exact.size(); ++k) {
      const auto at = static_cast<int64_t>(k);
      if (std::isfinite(expected.exact[k]) || std::isfinite(got.at(at))) continue;
      same.set(at, expected.exact[k]);
    }
    return same;
  }

  // Judges again without the elements on which right kernels may differ.
  void LeaveOutNearTies(const ExpectedOutput& expected, const HostTensor& got,
                        const JudgementOptions& options, OutputJudgement* judgement) const {
    // Where everything is zero, too, whatever is made of it.
    if (judgement->decided || sample_.inputs == "zeros") return;
    const std::optional<std::vector<bool>> ties =
        NearTies(traced_.graph, expected.name, sample_.tensors.values);
    if (!ties || ties->size() != expected.exact.size()) return;
    HostTensor rest = got;
    size_t left_out = 0;
    for (size_t k = 0; k < ties->size(); ++k) {
      if (!(*ties)[k]) continue;
      rest.set(static_cast<int64_t>(k), expected.exact[k]);
      ++left_out;
    }
    *judgement = JudgeOutput(traced_.graph, expected, rest, sample_.tensors.values, options);
    // What is left was chosen among values that differ.
    judgement->several_answers = false;
    judgement->numbers.elements -= left_out;
  }

  // At a large shape: the largest error as a share of what long sums in the dtype explain.
  double ShareOfLongSums(const ExpectedOutput& expected, const HostTensor& got) const {
    constexpr double kNotExplained = std::numeric_limits<double>::infinity();
    if (!IsFloat(expected.dtype)) return kNotExplained;
    const double eps = std::max(UnitRoundoff(expected.dtype), verification_.AllowedEpsilon());
    const double room = LongSumRoundings(traced_.graph) * eps;
    const double rms = expected.Rms();
    double largest = 0;
    for (size_t k = 0; k < expected.exact.size(); ++k) {
      const double exact = expected.exact[k];
      const double error = std::abs(got.at(static_cast<int64_t>(k)) - exact);
      if (error == 0) continue;
      const double share = error / (room * std::max(std::abs(exact), rms));
      if (!(share <= 1)) return kNotExplained;  // a NaN, too
      largest = std::max(largest, share);
    }
    return largest;
  }

  void CheckOutput(const ExpectedOutput& expected, const HostTensor& got,
                   const std::vector<bool>& unwritten, double usual_rms) {
    if (got.shape != expected.shape || got.dtype != expected.dtype) {
      Object(VerdictKind::kRefuted,
             {.kind =
                  got.shape != expected.shape ? FindingKind::kWrongShape : FindingKind::kWrongDtype,
              .message = fmt::format("{} is {} {}, the task's is {} {}", expected.name,
                                     DTypeName(got.dtype), FormatShape(got.shape),
                                     DTypeName(expected.dtype), FormatShape(expected.shape)),
              .counterexample = Example()});
      return;
    }
    const auto missing =
        static_cast<uint64_t>(std::count(unwritten.begin(), unwritten.end(), true));
    if (missing > 0) {
      const auto first = static_cast<size_t>(std::find(unwritten.begin(), unwritten.end(), true) -
                                             unwritten.begin());
      const std::optional<CandidateProblem>& cleared = traced_.call->cleared_launch;
      Counterexample example = Example();
      example.output = expected.name;
      example.index = IndexOf(first, expected.shape);
      example.expected = expected.exact[first];
      example.got = got.at(static_cast<int64_t>(first));
      example.wrong = missing;
      example.elements = unwritten.size();
      Object(
          VerdictKind::kRefuted,
          {.kind = cleared ? FindingKind::kLaunchError : FindingKind::kUnwritten,
           .message = (cleared ? "a launch failed (" + cleared->message + "): " : "") +
                      fmt::format("{} of {} elements of {} were never written, the first at [{}]",
                                  missing, unwritten.size(), expected.name,
                                  fmt::join(IndexOf(first, expected.shape), ", ")),
           .counterexample = std::move(example)});
      return;
    }
    const JudgementOptions options{.epsilon = verification_.AllowedEpsilon(),
                                   .rtol = verification_.options.rtol,
                                   .atol = verification_.options.atol,
                                   .usual_rms = usual_rms};
    std::optional<HostTensor> alike;
    if (sample_.any_not_finite) alike = WithoutKinds(expected, got);
    const HostTensor& judged = alike ? *alike : got;
    OutputJudgement judgement =
        JudgeOutput(traced_.graph, expected, judged, sample_.tensors.values, options);
    if (!judgement.right) LeaveOutNearTies(expected, judged, options, &judgement);
    const std::string& group = traced_.request.configuration.group;
    if (!judgement.right && (group == "timing" || group == kDrawnGroup)) {
      if (const double share = ShareOfLongSums(expected, got); share <= 1) {
        judgement.right = true;
        judgement.numbers.wrong = 0;
        judgement.numbers.worst = share * kLimit;
      }
    }
    outcome_.numbers.push_back({.configuration = traced_.request.configuration.name,
                                .inputs = sample_.inputs,
                                .seed = sample_.seed,
                                .output = expected.name,
                                .elements = judgement.numbers.elements,
                                .worst = judgement.numbers.worst,
                                .allclose = judgement.allclose});
    if (judgement.right) return;
    Counterexample example = Example();
    example.output = expected.name;
    example.index = IndexOf(judgement.numbers.worst_index, expected.shape);
    example.expected = judgement.numbers.expected;
    example.got = judgement.numbers.got;
    example.scales = judgement.numbers.worst;
    example.wrong = judgement.numbers.wrong;
    example.elements = judgement.numbers.elements;
    if (judgement.several_answers) {
      Object(VerdictKind::kInconclusive,
             {.kind = FindingKind::kSeveralAnswers,
              .message =
                  fmt::format("{} differs from PyTorch's, but the task chooses among equals and "
                              "another choice may be right",
                              expected.name),
              .counterexample = std::move(example)},
             judgement.gross);
      return;
    }
    Object(VerdictKind::kRefuted,
           {.kind = FindingKind::kWrongValue,
            .message = fmt::format("{} is off by {:.3g} times what rounding explains",
                                   expected.name, judgement.numbers.worst / kLimit),
            .counterexample = std::move(example)},
           judgement.gross);
  }

  const Verification& verification_;
  const TracedShape& traced_;
  const Case& sample_;
  std::vector<CallArgument> arguments_;
  CaseOutcome outcome_;
};

}  // namespace

Result<CaseOutcome> Verification::Judge(const TracedShape& traced, const Case& sample,
                                        const Watch& watch) const {
  return JudgePlan(traced, traced.plan(), sample, nullptr, watch);
}

Result<CaseOutcome> Verification::JudgePlan(const TracedShape& traced, const Plan& plan,
                                            const Case& sample, const CaseTensors* earlier,
                                            const Watch& watch) const {
  return CaseJudge(*this, traced, sample).Run(plan, earlier, watch);
}

}  // namespace kernelsmith
