// `kernelsmith run`: runs a CUDA program on the virtual GPU, with our runtime library in place of
// NVIDIA's.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "cli/commands.h"
#include "cli/program.h"
#include "cli/task_options.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {
namespace {

struct RunOptions {
  std::string gpu;
  std::optional<int> watchdog_seconds;
};

Result<ExitCode> Run(Session& session, const RunOptions& options,
                     const std::vector<std::string>& command) {
  if (command.empty()) return InvalidInput("run needs a program, e.g. kernelsmith run ./a.out");
  KS_TRY(PreparedProgram program, PrepareProgram(session, command[0]));
  if (!options.gpu.empty()) {
    KS_TRY(const GpuModel* model, FindGpuModel(options.gpu));
    program.environment["KERNELSMITH_GPU"] = model->key;
  }
  if (options.watchdog_seconds) {
    program.environment["KERNELSMITH_WATCHDOG_S"] = std::to_string(*options.watchdog_seconds);
  }
  session.out.flush();
  session.err.flush();
  ExecuteProgram(program, command);
  return InvalidInput(
      fmt::format("can't run {}: {}", EscapeForTerminal(command[0]), std::strerror(errno)));
}

}  // namespace

void AddRun(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "run", "Run a CUDA program (built with nvcc -cudart shared) on the virtual GPU");
  auto options = std::make_shared<RunOptions>();
  AddGpu(*command, options->gpu);
  command->add_option("--watchdog", options->watchdog_seconds,
                      "Seconds after which a kernel that only spins is ended; 0: never");
  command->footer(
      "kernelsmith run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n\n"
      "What stands from the program's name on is the program's, and so is all output: options of\n"
      "every command shape only what kernelsmith itself has to say, its errors.\n"
      "Environment: KERNELSMITH_GPU, KERNELSMITH_WATCHDOG_S and KERNELSMITH_ENGINE are the options "
      "above;\n"
      "KERNELSMITH_PATIENCE_MS (1000): how long a launch waits for its kernel before the host goes "
      "on\n"
      "by itself; KERNELSMITH_QUIET=1: no messages of kernelsmith; KERNELSMITH_LIB_DIR: where\n"
      "kernelsmith's libcudart.so.13 is.");
  session.program_commands["run"] = ProgramForm::kProgram;
  command->callback([&session, options] {
    session.action = [&session, options] {
      return Run(session, *options, session.program.operands);
    };
  });
}

}  // namespace kernelsmith
