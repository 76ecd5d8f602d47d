// `kernelsmith run`: runs a CUDA program on the virtual GPU, with our runtime library in place of
// NVIDIA's.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "cudart/program_file.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryName = "libcudart.so.13";

struct RunOptions {
  std::string gpu;
  std::optional<int> watchdog_seconds;
};

// Beside the program in the build tree, or where the installation puts it.
Result<fs::path> FindLibraryFolder(const FileSystem& files) {
  std::error_code ignored;
  const fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> folders;
  if (const char* given = std::getenv("KERNELSMITH_LIB_DIR")) folders.emplace_back(given);
  folders.push_back(own / "lib" / "kernelsmith");
  folders.push_back(own / ".." / KS_INSTALL_LIBDIR / "kernelsmith");
  folders.push_back(own / ".." / "lib" / "kernelsmith");
  for (const fs::path& folder : folders) {
    if (files.Exists(folder / kLibraryName)) return folder.lexically_normal();
  }
  return MissingTool(
      fmt::format("{} of kernelsmith was not found beside {}; build the target "
                  "ks_cudart_shared or set KERNELSMITH_LIB_DIR",
                  kLibraryName, own.string()));
}

// A name without '/' is looked up in PATH, as a shell does.
Result<fs::path> FindProgram(const FileSystem& files, const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (!files.Exists(name)) return InvalidInput("there is no file " + EscapeForTerminal(name));
    return fs::path(name);
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    const fs::path candidate = fs::path(folder) / name;
    if (::access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
  }
  return InvalidInput(fmt::format("there is no program '{}' in PATH{}", EscapeForTerminal(name),
                                  files.Exists(name) ? "; did you mean ./" + name + "?" : ""));
}

Status CheckProgram(const cudart::ProgramFile& program, const std::string& name) {
  if (program.script) return {};
  if (program.has_static_runtime()) {
    return Unsupported(
        fmt::format("{} was built with -cudart static (nvcc's default); rebuild it "
                    "with -cudart shared",
                    EscapeForTerminal(name)));
  }
  for (const std::string& library : program.needed) {
    if (library.starts_with("libcudart.so.") && library != kLibraryName) {
      return Unsupported(fmt::format("{} was built for {}; rebuild it with CUDA 13",
                                     EscapeForTerminal(name), EscapeForTerminal(library)));
    }
  }
  return {};
}

void Prepend(const char* variable, const std::string& value) {
  const char* old = std::getenv(variable);
  const std::string all = old == nullptr || *old == '\0' ? value : value + ":" + old;
  ::setenv(variable, all.c_str(), 1);
}

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
  KS_TRY(const fs::path program, FindProgram(session.files, command[0]));
  std::error_code ignored;
  if (fs::is_directory(program, ignored)) {
    return InvalidInput(EscapeForTerminal(command[0]) + " is a directory");
  }
  KS_TRY(const std::string contents, session.files.Read(program));
  KS_TRY(const cudart::ProgramFile file, cudart::InspectProgram(contents, command[0]));
  KS_RETURN_IF_ERROR(CheckProgram(file, command[0]));
  KS_TRY(const fs::path folder, FindLibraryFolder(session.files));
  Prepend("LD_LIBRARY_PATH", folder.string());
  if (file.has_rpath) Prepend("LD_PRELOAD", (folder / kLibraryName).string());

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
  command->add_option("--gpu", options->gpu, "GPU to pose as: h100 (default), a100, l4, ...");
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
