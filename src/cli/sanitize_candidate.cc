// `kernelsmith sanitize TASK CANDIDATE`: the candidate's host code is traced into plans, and those
// run on the virtual GPU under the checkers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "candidate/cuda_file.h"
#include "checkers/determinism.h"
#include "checkers/suite.h"
#include "cli/judge_tools.h"
#include "cli/sanitize.h"
#include "cli/task_store.h"
#include "device/plan_checks.h"

namespace kernelsmith {
namespace {

// Inputs that the task itself changes, by their place among the tensors of the arguments.
std::vector<bool> MayWrite(const TaskGraph& graph, const std::vector<const CallArgument*>& inputs) {
  std::vector<bool> may;
  for (const CallArgument* input : inputs) {
    may.push_back(std::find(graph.mutated.begin(), graph.mutated.end(), "mutated." + input->name) !=
                  graph.mutated.end());
  }
  return may;
}

class CandidateRun {
 public:
  CandidateRun(Session& session, const SanitizeOptions& options, std::vector<std::string> checks)
      : session_(session),
        options_(options),
        checks_(std::move(checks)),
        store_(DefaultTaskStoreOptions(session), session.files) {}

  Result<std::vector<checkers::Finding>> Run(const std::string& task_name,
                                             const std::string& candidate_file) {
    KS_RETURN_IF_ERROR(session_.files.Read(candidate_file));
    CandidateCompiler compiler = MakeCompiler(session_);
    candidate_ = OpenCandidate(candidate_file, OpenerOf(session_, compiler));
    KS_RETURN_IF_ERROR(candidate_->CompileOrFail());
    KS_TRY(const Task task, store_.Load(task_name, options_.mode));
    const TaskDirection direction = options_.direction.value();
    const ShapeChoice& shape = options_.shape;
    size_t configurations = 0;
    for (const TaskConfiguration& configuration : task.Configurations(direction)) {
      if (shape.configuration.empty() ? configuration.group != shape.group
                                      : configuration.name != shape.configuration) {
        continue;
      }
      ++configurations;
      KS_RETURN_IF_ERROR(RunOne(
          task, {.direction = direction, .configuration = configuration, .dtype = options_.dtype}));
    }
    if (configurations == 0) {
      return InvalidInput(shape.configuration.empty()
                              ? fmt::format("task '{}' has no {} configuration of the group '{}'",
                                            task.name, Name(direction), shape.group)
                              : fmt::format("task '{}' has no {} configuration '{}'", task.name,
                                            Name(direction), shape.configuration));
    }
    return sink_.Findings();
  }

 private:
  Status RunOne(const Task& task, const TaskRequest& request) {
    KS_TRY(const TaskGraph graph, store_.Export(task, request));
    KS_TRY(const TaskCase sample, store_.Evaluate(task, request, session_.Seed()));
    KS_TRY(const CaseTensors values, ReadCase(sample));
    KS_TRY(const Graph operators, ReadGraph(graph.file));
    KS_TRY(const CandidateCall call, MakeCall(request.direction, graph, operators, values));
    KS_TRY(const std::shared_ptr<const TracedCall> traced, candidate_->Trace(call));
    if (!traced->plan) {
      return Unsupported(
          fmt::format("{}: {}", request.configuration.name, traced->problems.front().message));
    }
    return RunPlan(*traced->plan, graph, FlattenTensors(call.arguments));
  }

  Status RunPlan(const Plan& plan, const TaskGraph& graph,
                 const std::vector<const CallArgument*>& inputs) {
    VirtualDeviceOptions device_options = DeviceOptionsOf(session_);
    device_options.gpu.settings.full_checks |= options_.full;
    checkers::SetMemoryOptions(device_options.gpu.memory);
    if (options_.watchdog_seconds) {
      device_options.gpu.watchdog = std::chrono::seconds(*options_.watchdog_seconds);
    }
    KS_TRY(const std::unique_ptr<ObservableDevice> device,
           MakeVirtualDevice(std::move(device_options)));
    checkers::CheckerList list(sink_);
    checkers::OrderChecker* const orders =
        checkers::AddCheckers(list, checks_, sink_, device->gpu(), checkers::Checked::kPlan);
    RunRequest request{.plan = &plan,
                       .ptx = candidate_->compiled().ptx,
                       .ptx_name = candidate_->compiled().ptx_path.string(),
                       .inputs = inputs};
    Watch watch{.observer = &list, .preparation = true};
    if (orders != nullptr) {
      watch.launch = [orders](vgpu::VirtualGpu& gpu, const vgpu::LaunchRequest& launch) {
        return checkers::LaunchInSeveralOrders(
            gpu, launch,
            [&](checkers::Finding finding, const std::vector<checkers::MemoryRange>& where) {
              orders->Add(std::move(finding), where);
            });
      };
    }
    const std::map<uint64_t, SourceLocation> sites = SitesOf(plan);
    PlanChecks steps(plan, list, device->gpu(),
                     {.place =
                          [&](const PlanStep& step) {
                            const auto it = sites.find(step.site);
                            checkers::Place place;
                            if (it != sites.end()) place.source = it->second;
                            return place;
                          },
                      .may_write = MayWrite(graph, inputs)});
    watch.steps = &steps;
    KS_TRY(const WatchedRun outcome, device->RunWatched(request, watch));
    list.Finish();
    if (outcome.failure && !sink_.HasErrors()) {
      sink_.Add({.kind = FindingKind::kLaunchError,
                 .severity = Severity::kError,
                 .message = outcome.failure->message});
    }
    return {};
  }

  std::map<uint64_t, SourceLocation> SitesOf(const Plan& plan) {
    std::vector<uint64_t> sites;
    for (const auto* steps : {&plan.preparation, &plan.steps}) {
      for (const PlanStep& step : *steps) {
        if (step.site != 0) sites.push_back(step.site);
      }
    }
    const std::vector<SourceLocation> places =
        ResolveSites(candidate_->compiled(), sites, session_.processes);
    std::map<uint64_t, SourceLocation> found;
    for (size_t i = 0; i < sites.size() && i < places.size(); ++i) {
      if (places[i].line > 0) found[sites[i]] = places[i];
    }
    return found;
  }

  Session& session_;
  const SanitizeOptions& options_;
  std::vector<std::string> checks_;
  TaskStore store_;
  std::shared_ptr<Candidate> candidate_;
  checkers::FindingSink sink_;
};

}  // namespace

Result<std::vector<checkers::Finding>> SanitizeCandidate(Session& session,
                                                         const SanitizeOptions& options,
                                                         const std::string& task,
                                                         const std::string& candidate) {
  KS_TRY(std::vector<std::string> checks, checkers::ParseChecks(options.checks));
  return CandidateRun(session, options, std::move(checks)).Run(task, candidate);
}

}  // namespace kernelsmith
