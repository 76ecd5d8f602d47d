#include <fmt/format.h>

#include "compile/build.h"
#include "compile/nvcc_messages.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// What the two share: the language, the headers, the names that candidates may test for.
std::vector<std::string> CommonArguments(const Build& build) {
  return {"-std=c++17",
          "-lineinfo",
          "--expt-relaxed-constexpr",
          "--extended-lambda",
          "-isystem",
          build.headers.string(),
          "-I",
          fs::absolute(build.source).parent_path().string(),
          "-DTORCH_EXTENSION_NAME=candidate",
          "-DKERNELSMITH=1"};
}

ProcessRequest Nvcc(const Build& build, const std::vector<std::string>& more,
                    const fs::path& target) {
  ProcessRequest request{.argv = {build.nvcc.path.string()}, .timeout = build.options.timeout};
  const auto append = [&](const std::vector<std::string>& list) {
    request.argv.insert(request.argv.end(), list.begin(), list.end());
  };
  append(more);
  append(CommonArguments(build));
  append({"-o", target.string()});
  append(build.options.flags);
  request.argv.push_back((build.scratch / "candidate.cu").string());
  return request;
}

}  // namespace

ProcessRequest NvccToPtx(const Build& build, const std::vector<std::string>& more,
                         const fs::path& target) {
  std::vector<std::string> arguments = more;
  arguments.emplace_back("-ptx");
  arguments.push_back(fmt::format("-arch=compute_{}", build.options.architecture));
  return Nvcc(build, arguments, target);
}

Result<std::vector<Diagnostic>> Messages(const Build& build, const ProcessResult& result) {
  if (result.timed_out) {
    return TimedOut(fmt::format("compiling {} took longer than {} s", build.source.string(),
                                build.options.timeout.count() / 1000));
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
           {"-shared", "-cudart", "none", "-Xcompiler", "-fPIC,-g1", "-gencode",
            fmt::format("arch=compute_{0},code=compute_{0}", build.options.architecture), "--keep",
            "--keep-dir", build.scratch.string()},
           build.scratch / "host.so");
  KS_TRY(const ProcessResult result, build.processes.Run(request));
  return Messages(build, result);
}

}  // namespace kernelsmith
