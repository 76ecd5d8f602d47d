#include "verify/verify.h"

#include <fmt/format.h>

#include <cctype>

#include "compile/source_style.h"
#include "support/processor_time.h"
#include "verify/quick_verify.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

struct Stage {
  const char* name;
  Result<StageResult> (*run)(Verification&);
};

// Cheap before expensive, so that a wrong candidate is refuted soon; what explains a wrong number
// (a race, a read out of bounds) before the number itself.
// clang-format off
constexpr Stage kStages[] = {
    {"compile", CompileStage},
    {"plan", PlanStage},
    {"checkers", CheckersStage},
    {"numbers", NumbersStage},
    {"drawn", DrawnStage},
    {"assemble", AssembleStage},
    {"earlier_calls", EarlierCallsStage},
    {"calls", CallsStage},
    {"state", StateStage},
    {"algebra", AlgebraStage},
    {"dependence", DependenceStage},
    {"layouts", LayoutsStage},
    {"domain", DomainStage},
    {"determinism", DeterminismStage},
    {"timing", TimingStage},
    {"coverage", CoverageStage},
    {"sizes", SizesStage},
};
// clang-format on

// Tasks without arguments are judged at smaller sizes than their own. A candidate that has those in
// its code fails there, whatever else is wrong with it: its author should know how to ask for the
// task's own shape.
void NoteSizesInSource(const Verification& verification, StageResult& stage) {
  if (verification.verdict.kind != VerdictKind::kRefuted || verification.shapes.empty() ||
      verification.shapes[0] == nullptr) {
    return;
  }
  const auto& values = verification.shapes[0]->request.configuration.values;
  const auto sizes = values.is_object() ? values.find("sizes") : values.end();
  if (sizes == values.end() || !sizes->is_object()) return;
  const Result<std::string> source = verification.tools.files.Read(verification.candidate.path());
  if (!source.ok()) return;
  const std::string code = BlankComments(*source);
  for (const auto& [key, smaller] : sizes->items()) {
    const std::string size = key.substr(0, key.find('#'));  // 32#2: the second of several
    for (size_t at = code.find(size); at != std::string::npos; at = code.find(size, at + 1)) {
      const char before = at == 0 ? ' ' : code[at - 1];
      const char after = at + size.size() == code.size() ? ' ' : code[at + size.size()];
      const auto goes_on = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
      };
      if (goes_on(before) || goes_on(after)) {
        continue;
      }
      stage.Note(
          {.kind = FindingKind::kSizeInSource,
           .message = fmt::format("the source has the number {}, a size of the task that was "
                                  "judged at {}: --shapes exact judges the task's own shape alone",
                                  size, smaller.dump())});
      return;
    }
  }
}

const char* OutcomeOf(VerdictKind kind) {
  return kind == VerdictKind::kVerified ? "passed" : Name(kind);
}

// Up to and with the stage of that name; null: all.
Result<Verdict> RunStages(const Task& task, Candidate& candidate, const VerifyOptions& options,
                          const VerifyTools& tools, const char* last) {
  Verification verification(task, candidate, options, tools);
  Verdict& verdict = verification.verdict;
  const auto seconds = [](Clock::Duration duration) {
    return std::chrono::duration<double>(duration).count();
  };
  const Clock::Duration start = tools.clock.Now();
  const double processor_start = ProcessorSeconds();
  tools.progress.Begin("verify", std::size(kStages));
  Status status;
  for (size_t i = 0; i < std::size(kStages) && status.ok() && !verification.Ended(); ++i) {
    tools.progress.Update(i, kStages[i].name);
    const Clock::Duration begin = tools.clock.Now();
    const double processor_begin = ProcessorSeconds();
    Result<StageResult> outcome = kStages[i].run(verification);
    if (!outcome.ok()) {
      status = outcome.error();
      break;
    }
    verdict.stages.push_back({.name = kStages[i].name,
                              .outcome = outcome->skipped ? "skipped" : OutcomeOf(outcome->kind),
                              .seconds = seconds(tools.clock.Now() - begin),
                              .processor_seconds = ProcessorSeconds() - processor_begin,
                              .note = outcome->note});
    verification.Take(kStages[i].name, *std::move(outcome));
    if (last != nullptr && std::string_view(kStages[i].name) == last) break;
  }
  tools.progress.End();
  KS_RETURN_IF_ERROR(status);
  StageResult remarks;
  NoteSizesInSource(verification, remarks);
  verification.Take(verdict.stages.back().name, std::move(remarks));
  verdict.seconds = seconds(tools.clock.Now() - start);
  verdict.processor_seconds = ProcessorSeconds() - processor_start;
  return std::move(verdict);
}

}  // namespace

Result<Verdict> Verify(const Task& task, Candidate& candidate, const VerifyOptions& options,
                       const VerifyTools& tools) {
  return RunStages(task, candidate, options, tools, nullptr);
}

Result<Verdict> QuickVerify(const Task& task, Candidate& candidate, VerifyOptions options,
                            const VerifyTools& tools) {
  options.configurations = 1;
  options.draws = 1;
  options.structured_budget = 0;
  options.timing_work = 0;
  return RunStages(task, candidate, options, tools, "numbers");
}

Result<Verdict> Replay(const Task& task, Candidate& candidate, const Counterexample& example,
                       const VerifyOptions& options, const VerifyTools& tools) {
  Verification verification(task, candidate, options, tools);
  Verdict& verdict = verification.verdict;
  const Clock::Duration start = tools.clock.Now();
  KS_TRY(StageResult stage, CompileStage(verification));
  if (stage.Ended()) {
    verification.Take("replay", std::move(stage));
    return std::move(verdict);
  }
  TaskRequest request{.direction = options.direction, .configuration = {}, .dtype = options.dtype};
  request.configuration.values = example.values;
  request.configuration.name = example.configuration;
  KS_TRY(const std::unique_ptr<TracedShape> traced,
         verification.PrepareRequest(std::move(request), stage));
  if (traced != nullptr) {
    KS_TRY(const std::optional<Case> sample,
           verification.MakeCase(*traced, example.inputs, example.seed));
    if (!sample) return InvalidInput("the counterexample's inputs are outside the task's domain");
    KS_TRY(CaseOutcome outcome, verification.Judge(*traced, *sample));
    verdict.proof.numbers = outcome.numbers;
    for (Objection& each : outcome.objections) {
      stage.Add(each.kind, std::move(each.finding));
    }
  }
  verification.Take("replay", std::move(stage));
  verdict.seconds = std::chrono::duration<double>(tools.clock.Now() - start).count();
  verdict.stages.push_back(
      {.name = "replay", .outcome = OutcomeOf(verdict.kind), .seconds = verdict.seconds});
  return std::move(verdict);
}

}  // namespace kernelsmith
