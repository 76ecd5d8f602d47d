// Two candidates on the shapes and data of a task.
#include <fmt/format.h>

#include "candidate/call.h"
#include "verify/compare.h"
#include "verify/verification.h"

namespace kernelsmith {
namespace {

// As many shapes as verify judges.
constexpr size_t kShapes = 6;

void Append(const Verdict& next, const std::string& configuration, Verdict& all) {
  all.kind = next.kind;
  all.findings = next.findings;
  all.kernels = next.kernels;
  all.libraries = next.libraries;
  for (Finding& finding : all.findings) {
    if (finding.counterexample) finding.counterexample->configuration = configuration;
  }
  for (NumbersChecked row : next.proof.numbers) {
    row.configuration = configuration;
    all.proof.numbers.push_back(std::move(row));
  }
  AlgebraProof& algebra = all.proof.algebra;
  algebra.outcome = next.proof.algebra.outcome;
  algebra.reason = next.proof.algebra.reason;
  algebra.bound = next.proof.algebra.bound;
  algebra.draws += next.proof.algebra.draws;
  algebra.elements += next.proof.algebra.elements;
  algebra.proved += next.proof.algebra.proved;
  algebra.configurations.push_back(configuration);
}

}  // namespace

Result<Verdict> CompareOnTask(Candidate& old_candidate, Candidate& new_candidate, const Task& task,
                              TaskDirection direction, const std::string& dtype,
                              const CompareOptions& options, const CompareTools& tools,
                              TaskStore& tasks) {
  Verdict all;
  size_t shapes = 0;
  const Clock::Duration start = tools.clock.Now();
  for (const TaskConfiguration& each : task.Configurations(direction)) {
    if (each.group == "timing" || shapes == kShapes) continue;
    TaskRequest request{.direction = direction, .configuration = each, .dtype = dtype};
    KS_TRY(request.configuration, tasks.Reduce(task, request, options.work));
    KS_TRY(const TaskGraph graph, tasks.Export(task, request));
    KS_TRY(const TaskCase sample, tasks.Evaluate(task, request, kSeenSeed));
    KS_TRY(const CaseTensors values, ReadCase(sample));
    KS_TRY(const std::vector<CallArgument> arguments, MakeCallArguments(graph, values));
    CompareOptions own = options;
    own.keep_values = true;
    own.function = direction == TaskDirection::kForward ? "forward" : "backward";
    own.seed = options.seed + shapes;
    KS_TRY(const Verdict verdict,
           CompareCandidates(old_candidate, new_candidate, arguments, own, tools));
    if (shapes++ == 0) all = Verdict{.candidate = verdict.candidate};
    Append(verdict, request.configuration.name, all);
    if (all.kind != VerdictKind::kVerified) break;
  }
  if (shapes == 0) {
    return InvalidInput(fmt::format("task {} has no {} configuration", task.name, Name(direction)));
  }
  all.task = fmt::format("{} on {}", old_candidate.path().string(), task.name);
  all.direction = Name(direction);
  all.dtype = dtype;
  all.mode = task.mode;
  all.seed = options.seed;
  all.seconds = std::chrono::duration<double>(tools.clock.Now() - start).count();
  return all;
}

}  // namespace kernelsmith
