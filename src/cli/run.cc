// `kernelsmith run`: runs a CUDA program on the virtual GPU, with our runtime library in place of
// NVIDIA's.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/commands.h"
#include "cli/program.h"
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
  if (!options.gpu.empty()) {
    KS_TRY(const GpuModel* model, FindGpuModel(options.gpu));
    ::setenv("KERNELSMITH_GPU", std::string(model->key).c_str(), 1);
  }
  if (options.watchdog_seconds) {
    ::setenv("KERNELSMITH_WATCHDOG_S", std::to_string(*options.watchdog_seconds).c_str(), 1);
  }
  KS_TRY(const std::string program, PrepareProgram(session, command[0]));
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  session.out.flush();
  session.err.flush();
  ::execv(program.c_str(), arguments.data());
  return InvalidInput(
      fmt::format("can't run {}: {}", EscapeForTerminal(command[0]), std::strerror(errno)));
}

}  // namespace

void AddRun(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "run", "Run a CUDA program (built with nvcc -cudart shared) on the virtual GPU");
  auto options = std::make_shared<RunOptions>();
  command->add_option("--gpu", options->gpu,
                      "GPU to pose as, the default first: " + GpuModelKeys());
  command->add_option("--watchdog", options->watchdog_seconds,
                      "Seconds after which a kernel that only spins is ended; 0: never");
  // Options of every command, which do not fall through here. The program's output is its own, so
  // they shape only what kernelsmith itself has to say: its errors.
  command->add_flag("--json", session.json, "Errors of kernelsmith as one JSON document");
  command->add_flag("-q,--quiet", session.quiet, "Taken as by every command; no effect here");
  command->add_flag("-v,--verbose", session.verbose, "Say which kernels are compiled, or why not");
  command->add_option("--engine", session.engine, "What runs kernels: auto, jit, interpreter")
      ->check(CLI::IsMember({"auto", "jit", "interpreter"}));
  command->add_flag("--parallel-atomics", session.parallel_atomics,
                    "Run blocks on all processors even where the order of atomics shows");
  command->add_option("--color", session.color, "When to use colours in errors");
  command->add_option("--seed", session.seed_option, "Taken as by every command; no effect here");
  command->footer(
      "Environment: KERNELSMITH_GPU, KERNELSMITH_WATCHDOG_S and KERNELSMITH_ENGINE are the options "
      "above;\n"
      "KERNELSMITH_PATIENCE_MS (1000): how long a launch waits for its kernel before the host goes "
      "on\n"
      "by itself; KERNELSMITH_QUIET=1: no messages of kernelsmith; KERNELSMITH_LIB_DIR: where\n"
      "kernelsmith's libcudart.so.13 is.");
  // Everything from the program's name on is the program's: none of it falls through to the
  // options of kernelsmith itself.
  command->prefix_command();
  command->fallthrough(false);
  command->callback([&session, command, options] {
    session.action = [&session, options, rest = command->remaining()] {
      return Run(session, *options, rest);
    };
  });
}

}  // namespace kernelsmith
