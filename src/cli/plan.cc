// `kernelsmith plan TASK CANDIDATE`: what the candidate's host code asks of the GPU.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/task_options.h"
#include "cli/task_store.h"
#include "plan/plan_text.h"
#include "plan/trace.h"
#include "support/demangle.h"
#include "tasks/configurations.h"
#include "verify/arguments.h"

namespace kernelsmith {
namespace {

struct Options {
  std::string task;
  std::string candidate;
  DirectionChoice direction;
  std::string dtype = "task";
  ShapeChoice shape{.group = "quick"};
};

// For people: the text form with the candidate's lines in place of addresses, and kernels as their
// launches name them.
std::string ForPeople(const std::string& text, const CompiledCandidate& candidate, const Plan& plan,
                      ProcessRunner& processes) {
  std::vector<uint64_t> sites;
  for (const PlanStep& step : plan.preparation) sites.push_back(step.site);
  for (const PlanStep& step : plan.steps) sites.push_back(step.site);
  const std::vector<SourceLocation> places = ResolveSites(candidate, sites, processes);
  std::string result = text;
  for (const std::vector<PlanStep>* steps : {&plan.preparation, &plan.steps}) {
    for (const PlanStep& step : *steps) {
      const auto* launch = std::get_if<LaunchStep>(&step.action);
      if (launch == nullptr) continue;
      const std::string mangled = fmt::format("launch \"{}\" ", launch->kernel);
      const size_t at = result.find(mangled);
      if (at == std::string::npos) continue;
      result.replace(at, mangled.size(), fmt::format("launch {} ", KernelName(launch->kernel)));
    }
  }
  for (size_t i = 0; i < sites.size(); ++i) {
    if (places[i].line == 0) continue;
    const std::string site = fmt::format(" site {:#x}\n", sites[i]);
    const size_t at = result.find(site);
    if (at == std::string::npos) continue;
    result.replace(at, site.size(), fmt::format("   // line {}\n", places[i].line));
  }
  return result;
}

Result<ExitCode> RunPlan(Session& session, const Options& options) {
  KS_RETURN_IF_ERROR(session.files.Read(options.candidate));
  CandidateCompiler compiler(session.files, session.processes, session.tools);
  KS_TRY(const CompiledCandidate candidate, compiler.Compile(options.candidate, {}));
  TaskStore store(DefaultTaskStoreOptions(session), session.files);
  KS_TRY(const Task task, store.Load(options.task));
  const TaskDirection direction = options.direction.value();
  KS_TRY(const TaskConfiguration configuration,
         FindConfiguration(task, direction, options.shape.group, options.shape.configuration));
  const TaskRequest request{
      .direction = direction, .configuration = configuration, .dtype = options.dtype};
  KS_TRY(const TaskGraph graph, store.Export(task, request));
  KS_TRY(const TaskCase sample, store.Evaluate(task, request, session.Seed()));
  KS_TRY(const CaseTensors values, ReadCase(sample));
  KS_TRY(const std::vector<CallArgument> arguments, MakeCallArguments(graph, values));
  TraceOptions trace{.function = Name(direction)};
  for (const TensorSpec& result : sample.results) {
    trace.results.push_back({.dtype = ParseDType(result.dtype).value_or(DType::kFloat32),
                             .shape = result.shape,
                             .strides = result.strides});
  }
  KS_TRY(const TraceOutcome outcome, Trace(candidate, arguments, trace, session.processes));
  const std::string text = outcome.plan ? FormatPlan(*outcome.plan) : "";
  if (session.json) {
    nlohmann::json findings = nlohmann::json::array();
    for (const HostFinding& finding : outcome.findings) {
      findings.push_back({{"kind", Name(finding.kind)},
                          {"message", finding.message},
                          {"file", finding.where.file},
                          {"line", finding.where.line}});
    }
    session.PrintJson({{"plan", outcome.plan ? nlohmann::json(text) : nlohmann::json()},
                       {"findings", std::move(findings)},
                       {"kernels", candidate.ptx_path.string()},
                       {"compile_cached", candidate.cached},
                       {"compile_ms", candidate.duration.count() / 1e6},
                       {"trace_ms", outcome.duration.count() / 1e6}});
  } else {
    if (outcome.plan) {
      session.out << ForPeople(text, candidate, *outcome.plan, session.processes);
    }
    for (const HostFinding& finding : outcome.findings) {
      const Diagnostic diagnostic{
          .severity = Refutes(finding.kind) ? Severity::kError : Severity::kWarning,
          .where = finding.where,
          .message = fmt::format("{}: {}", Name(finding.kind), finding.message),
          .source_line = std::string(LineOf(candidate.text, finding.where.line))};
      session.err << FormatDiagnostic(diagnostic, session.ColorErr());
    }
  }
  if (outcome.plan) return kExitOk;
  return !outcome.findings.empty() && Refutes(outcome.findings.front().kind) ? kExitRefuted
                                                                             : kExitInconclusive;
}

}  // namespace

void AddPlan(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "plan", "Show what a candidate's host code does: allocations, copies, launches");
  command->fallthrough();
  auto options = std::make_shared<Options>();
  AddTask(*command, options->task)->required();
  AddCandidate(*command, options->candidate)->required();
  AddDirection(*command, options->direction);
  AddDtype(*command, options->dtype);
  AddShape(*command, options->shape);
  command->callback([&session, options] {
    session.action = [&session, options] { return RunPlan(session, *options); };
  });
}

}  // namespace kernelsmith
