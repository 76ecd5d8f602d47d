// `kernelsmith plan TASK CANDIDATE`: what the candidate's host code asks of the GPU.
#include <fmt/format.h>

#include "candidate/cuda_file.h"
#include "cli/commands.h"
#include "cli/judge_tools.h"
#include "cli/task_options.h"
#include "cli/task_store.h"
#include "plan/plan_text.h"
#include "support/demangle.h"
#include "tasks/configurations.h"

namespace kernelsmith {
namespace {

struct Options {
  std::string task;
  std::string candidate;
  DirectionChoice direction;
  std::string dtype = "task";
  std::string mode = "task";
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
  CandidateCompiler compiler = MakeCompiler(session);
  const std::shared_ptr<Candidate> candidate =
      OpenCandidate(options.candidate, OpenerOf(session, compiler));
  KS_RETURN_IF_ERROR(candidate->CompileOrFail());
  TaskStore store(DefaultTaskStoreOptions(session), session.files);
  KS_TRY(const Task task, store.Load(options.task, options.mode));
  const TaskDirection direction = options.direction.value();
  KS_TRY(const TaskConfiguration configuration,
         FindConfiguration(task, direction, options.shape.group, options.shape.configuration));
  const TaskRequest request{
      .direction = direction, .configuration = configuration, .dtype = options.dtype};
  KS_TRY(const TaskGraph graph, store.Export(task, request));
  KS_TRY(const TaskCase sample, store.Evaluate(task, request, session.Seed()));
  KS_TRY(const CaseTensors values, ReadCase(sample));
  KS_TRY(const Graph operators, ReadGraph(graph.file));
  KS_TRY(const CandidateCall call, MakeCall(direction, graph, operators, values));
  KS_TRY(const std::shared_ptr<const TracedCall> traced, candidate->Trace(call));
  const CompiledCandidate& compiled = candidate->compiled();
  const std::string text = traced->plan ? FormatPlan(*traced->plan) : "";
  std::vector<CandidateProblem> problems = traced->problems;
  if (traced->cleared_launch) problems.push_back(*traced->cleared_launch);
  if (session.json) {
    nlohmann::json findings = nlohmann::json::array();
    for (const CandidateProblem& problem : problems) {
      findings.push_back({{"kind", Name(problem.kind)},
                          {"message", problem.message},
                          {"file", problem.where.file},
                          {"line", problem.where.line}});
    }
    session.PrintJson({{"plan", traced->plan ? nlohmann::json(text) : nlohmann::json()},
                       {"findings", std::move(findings)},
                       {"kernels", compiled.ptx_path.string()},
                       {"compile_cached", compiled.cached},
                       {"compile_ms", compiled.duration.count() / 1e6},
                       {"trace_ms", traced->duration.count() / 1e6}});
  } else {
    if (traced->plan) {
      session.out << ForPeople(text, compiled, *traced->plan, session.processes);
    }
    for (const CandidateProblem& problem : problems) {
      const Diagnostic diagnostic{
          .severity =
              problem.verdict == VerdictKind::kRefuted ? Severity::kError : Severity::kWarning,
          .where = problem.where,
          .message = fmt::format("{}: {}", Name(problem.kind), problem.message),
          .source_line = std::string(LineOf(compiled.text, problem.where.line))};
      session.err << FormatDiagnostic(diagnostic, session.ColorErr());
    }
  }
  return traced->plan ? kExitOk : ExitCodeOf(problems.front().verdict);
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
  AddMode(*command, options->mode);
  AddShape(*command, options->shape);
  command->callback([&session, options] {
    session.action = [&session, options] { return RunPlan(session, *options); };
  });
}

}  // namespace kernelsmith
