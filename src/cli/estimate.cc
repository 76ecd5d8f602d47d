// `kernelsmith estimate TASK CANDIDATE`: how long the candidate would take on a GPU that is not
// there, what limits it, and what PyTorch's eager mode would take.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/judge_tools.h"
#include "cli/measured_candidate.h"
#include "measure/plan_estimate.h"
#include "support/demangle.h"

namespace kernelsmith {
namespace {

struct Options {
  std::string task;
  std::string candidate;
  std::string gpu{DefaultGpuModel().key};
  uint64_t blocks = 48;
  MeasuredOptions measured;
};

std::string Text(const PlanEstimate& estimate) {
  std::string text;
  for (const PlanEstimate::Step& step : estimate.steps) {
    text += fmt::format("{}  {}\n", EscapeForTerminal(KernelName(step.name)),
                        FormatSeconds(step.seconds));
    if (!step.launch) continue;
    text += fmt::format("    limited by {}\n", step.launch->limit);
    std::string parts;
    for (const LaunchEstimate::Part& part : step.launch->parts) {
      parts +=
          fmt::format("{}{} {}", parts.empty() ? "" : ", ", part.name, FormatSeconds(part.seconds));
    }
    text += fmt::format("    {}; {:.2f} waves, {:.0f} % of the SMs busy\n", parts,
                        step.launch->waves, 100 * step.launch->busy);
  }
  return text;
}

Result<ExitCode> RunEstimate(Session& session, const Options& options) {
  KS_TRY(const GpuModel* gpu, FindGpuModel(options.gpu));
  KS_TRY(const MeasuredCandidate measured,
         MakeMeasuredCandidate(session, options.task, options.candidate, options.measured));
  const Task& task = measured.task;
  const MeasuredPlan& plan = measured.plan;
  KS_TRY(const std::unique_ptr<ObservableDevice> device,
         MakeVirtualDevice(DeviceOptionsOf(session)));
  KS_TRY(const CandidateEstimate result,
         EstimateCandidate(plan, *device, session.tools, session.processes,
                           {.gpu = gpu,
                            .max_blocks = options.blocks,
                            .seed = session.Seed(),
                            .run_all_blocks = options.measured.all_blocks_run}));
  const PlanEstimate& estimate = result.candidate;
  const EagerEstimate& eager = result.eager;
  if (session.json) {
    session.PrintJson({{"kind", "estimated"},
                       {"gpu", gpu->key},
                       {"task", task.name},
                       {"configuration", plan.measured->configuration.name},
                       {"direction", Name(options.measured.direction.value())},
                       {"candidate", ToJson(estimate)},
                       {"eager", ToJson(eager)},
                       {"speedup", result.Speedup()},
                       {"profile", ToJson(result.profile)}});
    return kExitOk;
  }
  session.out << fmt::format("{} with {}, {}: estimated, no GPU was used\n", task.name,
                             plan.measured->configuration.name, gpu->name);
  session.out << fmt::format(
      "  candidate      {:>10}  {} on the device in {} steps, the rest is "
      "calls and launches\n",
      FormatSeconds(estimate.seconds), FormatSeconds(estimate.device_seconds),
      estimate.steps.size());
  session.out << fmt::format("  PyTorch eager  {:>10}  {} operators{}; {:.2f} times as long\n",
                             FormatSeconds(eager.seconds), eager.steps.size(),
                             eager.LaunchBound() ? ", mostly launches" : "", result.Speedup());
  session.out << fmt::format(
      "  floor          {:>10}  {:.4g} MB and {:.4g} Gflop that every "
      "implementation needs{}\n",
      FormatSeconds(estimate.floor_seconds), result.floor.bytes / 1e6, result.floor.flops / 1e9,
      estimate.at_floor ? "; the model said less, so this counts" : "");
  session.out << Text(estimate);
  return kExitOk;
}

}  // namespace

void AddEstimate(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "estimate", "Estimate how long a candidate takes on a GPU, and what limits it");
  command->fallthrough();
  command->footer(
      "The time is estimated from counters of the kernels (kernelsmith profile) by a model of the\n"
      "GPU; PyTorch's eager mode by the same model, operator by operator. docs/results.md says "
      "how\n"
      "far off it is.");
  auto options = std::make_shared<Options>();
  AddTask(*command, options->task)->required();
  AddCandidate(*command, options->candidate)->required();
  AddGpu(*command, options->gpu);
  command->add_option("--blocks", options->blocks, "Blocks of a launch to watch; 0: all")
      ->capture_default_str();
  AddMeasuredOptions(
      command, options->measured,
      "Run the blocks that are not watched too, so that later kernels see right data");
  command->callback([&session, options] {
    session.action = [&session, options] { return RunEstimate(session, *options); };
  });
}

}  // namespace kernelsmith
