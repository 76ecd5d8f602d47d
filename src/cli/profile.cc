// `kernelsmith profile`: counts what kernels do. Of a program, the counting is done in its process,
// by our runtime library (as in `sanitize`); of a task's candidate, by replaying its plan.
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>
#include <map>
#include <sstream>

#include "cli/commands.h"
#include "cli/judge_tools.h"
#include "cli/measured_candidate.h"
#include "cli/program.h"
#include "counters/ptxas.h"
#include "measure/estimate.h"
#include "measure/plan_profile.h"
#include "support/demangle.h"

namespace kernelsmith {
namespace {

using counters::LaunchCounters;
using counters::PtxasKernel;

struct Options {
  std::string gpu{DefaultGpuModel().key};
  std::string output;
  std::string kernel;
  uint64_t blocks = 96;
  size_t max_launches = 50;
  bool watched_only = false;  // of a program
  MeasuredOptions measured;   // of a task
};

Status Write(Session& session, const Options& options, const std::string& text) {
  if (!options.output.empty()) return session.files.Write(options.output, text);
  session.out << text << std::flush;
  return {};
}

struct ProgramReport {
  std::vector<LaunchCounters> launches;
  std::vector<std::string> modules;  // files with the PTX that ran
};

Result<ProgramReport> ReadReport(const std::string& text) {
  ProgramReport report;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    // The last line may be cut: the program was killed.
    if (json.is_discarded()) continue;
    if (json.contains("module")) {
      report.modules.push_back(json["module"].get<std::string>());
      continue;
    }
    KS_TRY(LaunchCounters launch, counters::FromJson(json));
    report.launches.push_back(std::move(launch));
  }
  return report;
}

Result<ExitCode> ProfileProgram(Session& session, const Options& options, const GpuModel& gpu,
                                const std::vector<std::string>& command) {
  KS_TRY(PreparedProgram program, PrepareProgram(session, command[0]));
  const ScratchFile file;
  if (file.path().empty()) return InternalError("can't make a file for the report");
  program.environment["KERNELSMITH_GPU"] = gpu.key;
  program.environment["KERNELSMITH_PROFILE"] = file.path();
  program.environment["KERNELSMITH_PROFILE_BLOCKS"] = std::to_string(options.blocks);
  if (options.watched_only) program.environment["KERNELSMITH_PROFILE_WATCHED_ONLY"] = "1";
  program.environment["KERNELSMITH_PROFILE_SEED"] = std::to_string(session.Seed());
  session.out.flush();
  session.err.flush();
  // The answer has standard output to itself, unless it goes to a file.
  KS_TRY(const int status, RunProgram(program, command, options.output.empty()));
  KS_TRY(const std::string text, session.files.Read(file.path()));
  KS_TRY(ProgramReport report, ReadReport(text));
  std::map<std::string, PtxasKernel> known;
  for (const std::string& module : report.modules) {
    known.merge(counters::RunPtxas(module, session.tools, session.processes).kernels);
    std::error_code ignored;
    std::filesystem::remove(module, ignored);
  }
  std::string shown;
  nlohmann::json json = nlohmann::json::array();
  size_t count = 0;
  for (LaunchCounters& launch : report.launches) {
    const bool named = launch.kernel.find(options.kernel) != std::string::npos ||
                       KernelName(launch.kernel).find(options.kernel) != std::string::npos;
    if (!named) continue;
    const auto found = known.find(launch.kernel);
    counters::SetOccupancy(launch, gpu, found == known.end() ? nullptr : &found->second);
    const LaunchEstimate estimate = EstimateLaunch(launch, gpu);
    json.push_back(counters::ToJson(launch));
    json.back()["estimate"] = ToJson(estimate);
    if (++count > options.max_launches) continue;
    shown += counters::ToText(launch);
    shown += fmt::format("  {:<13} {} estimated, limited by {}\n", "time",
                         FormatSeconds(estimate.seconds), estimate.limit);
  }
  if (count > options.max_launches) {
    shown += fmt::format("{} more launches are not shown (--max-launches)\n",
                         count - options.max_launches);
  }
  if (count == 0) shown = "no kernel was launched\n";
  if (session.json) {
    shown = nlohmann::json{{"gpu", gpu.key}, {"launches", std::move(json)}}.dump(2) + "\n";
  }
  KS_RETURN_IF_ERROR(Write(session, options, shown));
  if (WIFSIGNALED(status)) {
    session.err << fmt::format("kernelsmith: the program was ended by signal {} ({})\n",
                               WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    return static_cast<ExitCode>(128 + WTERMSIG(status));
  }
  return static_cast<ExitCode>(WEXITSTATUS(status));
}

Result<ExitCode> ProfileTask(Session& session, const Options& options, const GpuModel& gpu,
                             const std::string& task_name, const std::string& candidate) {
  KS_TRY(const MeasuredCandidate measured,
         MakeMeasuredCandidate(session, task_name, candidate, options.measured));
  const MeasuredPlan& plan = measured.plan;
  KS_TRY(const std::unique_ptr<ObservableDevice> device,
         MakeVirtualDevice(DeviceOptionsOf(session)));
  KS_TRY(const PlanProfile profile,
         ProfilePlan(plan, *device, session.tools, session.processes,
                     {.gpu = &gpu,
                      .max_blocks = options.blocks,
                      .max_instructions = options.blocks == 0 ? 0 : uint64_t{20'000'000},
                      .seed = session.Seed(),
                      .run_all_blocks = options.measured.all_blocks_run}));
  std::string shown;
  if (session.json) {
    nlohmann::json json = ToJson(profile);
    json["gpu"] = gpu.key;
    json["task"] = measured.task.name;
    json["configuration"] = plan.measured->configuration.name;
    shown = json.dump(2) + "\n";
  } else {
    shown = fmt::format("{} with {}, {}\n", measured.task.name, plan.measured->configuration.name,
                        gpu.name) +
            ToText(profile);
  }
  KS_RETURN_IF_ERROR(Write(session, options, shown));
  return profile.failure.empty() ? kExitOk : kExitRefuted;
}

Result<ExitCode> Profile(Session& session, const Options& options) {
  const std::vector<std::string>& operands = session.program.operands;
  if (operands.empty()) {
    return InvalidInput(
        "profile needs a program (kernelsmith profile ./a.out) or a task and a candidate");
  }
  KS_TRY(const GpuModel* gpu, FindGpuModel(options.gpu));
  if (!session.program.candidate) return ProfileProgram(session, options, *gpu, operands);
  KS_RETURN_IF_ERROR(CheckCandidateOperands(session));
  return ProfileTask(session, options, *gpu, operands[0], operands[1]);
}

}  // namespace

void AddProfile(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "profile", "Count what the kernels of a program or of a task's candidate do");
  auto options = std::make_shared<Options>();
  AddGpu(*command, options->gpu);
  command
      ->add_option("--blocks", options->blocks,
                   "Watch so many blocks of a larger grid and scale; 0: all, exactly")
      ->capture_default_str();
  command->add_option("--kernel", options->kernel, "Only kernels whose name contains this");
  command->add_option("--max-launches", options->max_launches, "Launches to show")
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "File for the report");
  AddMeasuredOptions(
      command, options->measured,
      "For a candidate: run the blocks that are not watched too, for kernels whose work depends "
      "on results of others");
  command->add_flag(
      "--watched-only", options->watched_only,
      "For a program: do not run the blocks that are not watched. Its results are wrong");
  command->footer(
      "kernelsmith profile [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
      "kernelsmith profile [OPTIONS] TASK CANDIDATE.cu [OPTIONS]\n\n"
      "The report goes to standard output, the program's own output to standard error. Counts are\n"
      "exact where all blocks were watched, else scaled from a sample, and the report says which;\n"
      "caches are a model. Registers and spills come from ptxas where it is found. The exit code\n"
      "is the program's own.");
  session.program_commands["profile"] = ProgramForm::kProgramOrCandidate;
  command->callback([&session, options] {
    session.action = [&session, options] { return Profile(session, *options); };
  });
}

}  // namespace kernelsmith
