#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <initializer_list>

#include "compile/build.h"
#include "compile/nvcc_messages.h"
#include "compile/torch_flags.h"
#include "support/toolchain_walls.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// As PyTorch's build calls it, and lines for messages.
std::vector<std::string> CommonArguments(const Build& build) {
  std::vector<std::string> arguments(kTorchDefines.begin(), kTorchDefines.end());
  std::vector<fs::path> includes = build.real_includes;
  if (includes.empty()) includes.push_back(build.headers);
  for (const fs::path& include : includes) {
    arguments.insert(arguments.end(), {"-isystem", include.string()});
  }
  arguments.insert(arguments.end(), kTorchCudaDefines.begin(), kTorchCudaDefines.end());
  arguments.insert(arguments.end(), kTorchNvccFlags.begin(), kTorchNvccFlags.end());
  arguments.insert(arguments.end(),
                   {"--compiler-options", kTorchHostFlags, kTorchStandard, "-lineinfo"});
  return arguments;
}

ProcessRequest Nvcc(const Build& build, const std::vector<std::string>& more,
                    const fs::path& target, const std::vector<fs::path>& readable) {
  std::vector<std::string> argv = {build.nvcc.path.string()};
  const auto append = [&](const std::vector<std::string>& list) {
    argv.insert(argv.end(), list.begin(), list.end());
  };
  append(more);
  append(CommonArguments(build));
  if (build.extended_lambdas) append({"--extended-lambda"});
  append({"-o", target.string()});
  append(build.options.flags);
  argv.push_back(build.input.string());
  return Walled(build, std::move(argv), readable);
}

}  // namespace

ProcessRequest Walled(const Build& build, std::vector<std::string> argv,
                      const std::vector<fs::path>& readable) {
  ProcessRequest request{.argv = std::move(argv),
                         .directory = build.scratch,
                         .timeout = build.options.timeout,
                         .max_output = size_t{4} << 20};
  for (std::string& flag : request.argv) {
    if (flag.starts_with("-I") && flag.size() > 2)
      flag = "-I" + fs::absolute(flag.substr(2)).string();
  }
  if (build.options.unconfined_for_tests) return request;
  request.confinement = Confinement{.processor_time = build.options.processor_time,
                                    .memory = build.options.memory,
                                    .file_size = build.options.file_size};
  ToolchainWalls walls{.readable = readable, .scratch = build.scratch};
  walls.readable.push_back(build.headers);
  // clang reads nvcc's headers.
  for (fs::path& folder : FoldersOfTool(build.nvcc.path)) {
    walls.readable.push_back(std::move(folder));
  }
  // Folders that the user, not the candidate, has named.
  for (const std::string& flag : request.argv) {
    if (flag.starts_with("-I") && flag.size() > 2) walls.readable.emplace_back(flag.substr(2));
  }
  Confine(request, walls);
  return request;
}

ProcessRequest NvccToPtx(const Build& build, const std::vector<std::string>& more,
                         const fs::path& target, const std::vector<fs::path>& readable) {
  std::vector<std::string> arguments = more;
  arguments.emplace_back("-ptx");
  arguments.push_back(fmt::format("-arch=compute_{}", build.options.architecture));
  return Nvcc(build, arguments, target, readable);
}

std::string LimitReached(const CompileOptions& options, const ProcessResult& result) {
  if (result.timed_out) {
    return fmt::format("takes longer than {} s",
                       std::chrono::duration_cast<std::chrono::seconds>(options.timeout).count());
  }
  if (result.exit_code == 0) return {};
  const std::string output = result.err + result.out;
  const auto says = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return output.find(word) != std::string::npos;
    });
  };
  if (result.signal == SIGXCPU || result.signal == SIGKILL ||
      says({"CPU time limit exceeded", "Cputime limit exceeded", "due to signal 24",
            "Killed signal terminated", "due to signal 9 "})) {
    return fmt::format("takes more than {} s of processor time", options.processor_time.count());
  }
  if (result.signal == SIGXFSZ ||
      says({"File size limit exceeded", "due to signal 25", "File too large", "file size limit"})) {
    return fmt::format("makes files of more than {} MiB", options.file_size >> 20);
  }
  if (says({"out of memory", "Out of memory", "memory exhausted", "annot allocate memory",
            "bad_alloc", "Memory allocation failure"})) {
    return fmt::format("takes more than {} MiB of memory", options.memory >> 20);
  }
  return {};
}

Result<std::vector<Diagnostic>> Messages(const Build& build, const ProcessResult& result) {
  if (const std::string limit = LimitReached(build.options, result); !limit.empty()) {
    return Error(ErrorKind::kTimeout, Diagnostic{.where = {.file = build.source.string()},
                                                 .message = "compiling the candidate " + limit});
  }
  const std::string output = result.err + result.out;
  std::vector<Diagnostic> diagnostics =
      ParseNvccMessages(output, build.source.string(), build.text);
  if (result.exit_code != 0) return CompilationError(std::move(diagnostics), output);
  return diagnostics;
}

Result<std::vector<Diagnostic>> BuildByNvcc(const Build& build) {
  // No CUDA runtime is linked: the tracer is the runtime.
  const ProcessRequest request =
      Nvcc(build,
           {"-shared", "-cudart", "none", "-Xcompiler", "-g1", "-gencode",
            fmt::format("arch=compute_{0},code=compute_{0}", build.options.architecture), "--keep",
            "--keep-dir", build.scratch.string()},
           build.scratch / "host.so", {});
  KS_TRY(const ProcessResult result, build.processes.Run(request));
  return Messages(build, result);
}

}  // namespace kernelsmith
