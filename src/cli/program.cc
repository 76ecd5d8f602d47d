#include "cli/program.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "cudart/program_file.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryName = "libcudart.so.13";

// Beside the program in the build tree, or where the installation puts it.
Result<fs::path> FindLibraryFolder(const Session& session) {
  std::error_code ignored;
  const fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> folders;
  const fs::path& given = session.settings.folders.libraries;
  if (!given.empty()) folders.push_back(given);
  folders.push_back(own / "lib" / "kernelsmith");
  folders.push_back(own / ".." / KS_INSTALL_LIBDIR / "kernelsmith");
  folders.push_back(own / ".." / "lib" / "kernelsmith");
  for (const fs::path& folder : folders) {
    if (session.files.Exists(folder / kLibraryName)) return folder.lexically_normal();
  }
  return MissingTool(
      fmt::format("{} of kernelsmith was not found beside {}; build the target "
                  "ks_cudart_shared or set KERNELSMITH_LIB_DIR",
                  kLibraryName, own.string()));
}

// A name without '/' is looked up in PATH, as a shell does.
Result<fs::path> FindProgram(const Session& session, const std::string& name) {
  const FileSystem& files = session.files;
  if (name.find('/') != std::string::npos) {
    if (!files.Exists(name)) return InvalidInput("there is no file " + EscapeForTerminal(name));
    return fs::path(name);
  }
  std::string_view rest = session.settings.tools.search_path;
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
  if (program.has_static_runtime() && program.has_kernels) {
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

std::string Prepend(const std::string& value, const std::string& old) {
  return old.empty() ? value : value + ":" + old;
}

}  // namespace

Status CheckCandidateOperands(const Session& session) {
  const std::vector<std::string>& operands = session.program.operands;
  if (operands.size() <= 2) return {};
  return InvalidInput(
      fmt::format("'{}' is one operand too many behind a task and a candidate; a program with "
                  "arguments comes behind --",
                  EscapeForTerminal(operands[2])));
}

Result<PreparedProgram> PrepareProgram(Session& session, const std::string& name) {
  KS_TRY(const fs::path program, FindProgram(session, name));
  std::error_code ignored;
  if (fs::is_directory(program, ignored)) {
    return InvalidInput(EscapeForTerminal(name) + " is a directory");
  }
  KS_TRY(const std::string contents, session.files.Read(program));
  KS_TRY(const cudart::ProgramFile file, cudart::InspectProgram(contents, name));
  KS_RETURN_IF_ERROR(CheckProgram(file, name));
  KS_TRY(const fs::path folder, FindLibraryFolder(session));
  PreparedProgram prepared{program.string(), VariablesOf(session.settings.engine)};
  prepared.environment["LD_LIBRARY_PATH"] = Prepend(folder.string(), session.settings.library_path);
  if (file.has_static_runtime()) {
    // Perhaps it never calls CUDA. If it does, the runtime inside of it looks for NVIDIA's driver
    // and finds a library that ends the program and says why.
    prepared.environment["LD_LIBRARY_PATH"] =
        Prepend((folder / "static").string(), session.settings.library_path);
  }
  if (file.has_rpath) {
    prepared.environment["LD_PRELOAD"] =
        Prepend((folder / kLibraryName).string(), session.settings.preload);
  }
  return prepared;
}

void ExecuteProgram(const PreparedProgram& program, const std::vector<std::string>& command) {
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
  };
  const std::vector<std::string> environment = ChildEnvironment(program.environment);
  ::execve(program.path.c_str(), pointers(command).data(), pointers(environment).data());
}

Result<int> RunProgram(const PreparedProgram& program, const std::vector<std::string>& command,
                       bool redirect, std::optional<int> timeout_seconds, bool* timed_out) {
  const pid_t child = ::fork();
  if (child < 0) return InternalError(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    if (redirect) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ExecuteProgram(program, command);
    ::_exit(127);
  }
  // Ctrl-C is the program's; its report is still wanted.
  struct sigaction ignore{};
  struct sigaction old{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &ignore, &old);
  int status = 0;
  bool killed = false;
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    const pid_t ended = ::waitpid(child, &status, timeout_seconds ? WNOHANG : 0);
    if (ended == child || (ended < 0 && errno != EINTR)) break;
    if (ended < 0) continue;
    const auto elapsed = std::chrono::steady_clock::now() - start;
    if (!killed && elapsed > std::chrono::seconds(*timeout_seconds)) {
      killed = true;
      ::kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (timed_out != nullptr) *timed_out = killed;
  ::sigaction(SIGINT, &old, nullptr);
  return status;
}

ScratchFile::ScratchFile() {
  std::string path = (fs::temp_directory_path() / "kernelsmith-report-XXXXXX").string();
  const int fd = ::mkstemp(path.data());
  if (fd >= 0) {
    ::close(fd);
    path_ = path;
  }
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove(path_, ignored);
}

}  // namespace kernelsmith
