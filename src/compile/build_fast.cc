#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <system_error>

#include "compile/build.h"
#include "compile/device_names.h"
#include "compile/torch_flags.h"
#include "support/hash.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// Those of nvcc's flags that clang takes as they are, and those that mean nothing to host code.
// False: another one, which nvcc alone understands.
bool TranslateFlags(const std::vector<std::string>& flags, std::vector<std::string>& clang) {
  static constexpr std::string_view kSame[] = {"-D", "-U", "-I"};
  static constexpr std::string_view kDevice[] = {
      "--use_fast_math",  "-use_fast_math", "-O",      "--fmad=",
      "-fmad=",           "--ftz=",         "-ftz=",   "-lineinfo",
      "--prec-",          "-prec-",         "--expt-", "-expt-",
      "--extended-lambda"};
  const auto starts = [](const std::string& flag, const auto& list) {
    for (const std::string_view start : list) {
      if (flag.starts_with(start)) return true;
    }
    return false;
  };
  for (const std::string& flag : flags) {
    if (starts(flag, kSame) && flag.size() > 2) {
      clang.push_back(flag);
    } else if (!starts(flag, kDevice)) {
      return false;
    }
  }
  return true;
}

std::vector<std::string> ClangArguments(const Build& build, const Tool& clang) {
  std::error_code error;
  const fs::path nvcc = fs::canonical(build.nvcc.path, error);
  const fs::path cuda = (error ? build.nvcc.path : nvcc).parent_path().parent_path();
  std::vector<std::string> arguments = {
      clang.path.string(), "-x", "cuda", "--cuda-host-only", "--cuda-path=" + cuda.string(),
      "--cuda-gpu-arch=sm_90",  // of no account for host code, but clang knows not all
      kTorchStandard, kTorchHostFlags, "-O0", "-g1", "-ffp-contract=off", "-w",
      // In C++20 clang compares what a precompiled header and the source define as if both were
      // modules, and finds its own wrapper of <new> at odds with the C++ library's.
      "-Xclang", "-fno-cxx-modules",
      // A header that was touched but is the same is no reason to refuse the precompiled one.
      "-fpch-validate-input-files-content", "-I",
      (build.headers / "kernelsmith" / "clang").string(), "-isystem", build.headers.string(),
      "-isystem", (cuda / "include" / "cccl").string()};
  arguments.insert(arguments.end(), kTorchDefines.begin(), kTorchDefines.end());
  arguments.insert(arguments.end(), kTorchCudaDefines.begin(), kTorchCudaDefines.end());
  return arguments;
}

// When the headers were written. clang knows what #pragma once left behind by time and size: with
// headers that are the same but newer it would include them again.
std::string HeaderTimes(const fs::path& headers) {
  std::vector<std::string> times;
  std::error_code error;
  for (fs::recursive_directory_iterator it(headers, error), end; !error && it != end;
       it.increment(error)) {
    const auto time = it->last_write_time(error);
    times.push_back(fmt::format("{} {}\n", it->path().string(), time.time_since_epoch().count()));
  }
  std::sort(times.begin(), times.end());
  std::string all;
  for (const std::string& each : times) all += each;
  return all;
}

// The light headers, precompiled: parsing them is four fifths of clang's time. Made once for each
// set of headers and version of the tools. Nothing: clang can't.
std::optional<fs::path> PrecompiledHeaders(const Build& build, const Tool& clang) {
  std::string everything = build.headers_hash + "\n" + clang.version + "\n" + build.nvcc.version +
                           "\n" + HeaderTimes(build.headers);
  const std::vector<std::string> arguments = ClangArguments(build, clang);
  for (const std::string& argument : arguments) everything += "\n" + argument;
  fs::path target = build.cache / fmt::format("torch-{}.pch", Sha256(everything).substr(0, 16));
  UseCached(build.options, build.cache, target);
  if (build.files.Exists(target)) return target;
  // The header is among the inputs that clang looks at again, so it stays.
  const fs::path header = fs::path(target).replace_extension(".h");
  const fs::path made = build.scratch / "torch.pch";
  if (!build.files.Write(header, "#include <torch/extension.h>\n").ok()) return std::nullopt;
  std::vector<std::string> argv = arguments;
  for (const std::string& more :
       {std::string("-c"), std::string("-Xclang"), std::string("-emit-pch"), header.string(),
        std::string("-o"), made.string()}) {
    argv.push_back(more);
  }
  const Result<ProcessResult> result =
      build.processes.Run(Walled(build, std::move(argv), {header}));
  std::error_code error;
  if (result.ok() && result->exit_code == 0) fs::rename(made, target, error);
  const bool ok = result.ok() && result->exit_code == 0 && !error;
  fs::remove(made, error);
  return ok ? std::optional(target) : std::nullopt;
}

// The host code as an object file whose fat binary is a placeholder. False: clang refuses.
bool CompileHost(const Build& build, const Tool& clang, const std::vector<std::string>& flags,
                 const fs::path& placeholder, const fs::path& object) {
  std::vector<std::string> argv = ClangArguments(build, clang);
  const auto append = [&](const std::vector<std::string>& list) {
    argv.insert(argv.end(), list.begin(), list.end());
  };
  append(flags);
  std::optional<fs::path> precompiled;
  // A plain CUDA candidate must not see PyTorch's names.
  if (build.style == CandidateStyle::kTorch) precompiled = PrecompiledHeaders(build, clang);
  if (precompiled) append({"-include-pch", precompiled->string()});
  append({"-Xclang", "-fcuda-include-gpubinary", "-Xclang", placeholder.string(), "-c",
          build.input.string(), "-o", object.string()});
  std::vector<fs::path> readable;
  if (precompiled) {
    readable = {*precompiled, fs::path(*precompiled).replace_extension(".h")};
  }
  const Result<ProcessResult> result =
      build.processes.Run(Walled(build, std::move(argv), readable));
  if (!result.ok()) return false;
  if (result->exit_code == 0) return true;
  if (precompiled && (result->err.find("PCH") != std::string::npos ||
                      result->err.find("precompiled") != std::string::npos)) {
    std::error_code error;
    fs::remove(*precompiled, error);  // out of date in a way its name does not tell
  }
  return false;
}

}  // namespace

Result<std::optional<std::vector<Diagnostic>>> BuildFast(const Build& build, const Tool& clang) {
  const std::optional<std::vector<Diagnostic>> nothing;
  std::vector<std::string> flags;
  if (!TranslateFlags(build.options.flags, flags)) return nothing;
  const fs::path object = build.scratch / "host.o";
  const fs::path placeholder = build.scratch / "placeholder";
  const fs::path device = build.scratch / "device.ptx";
  KS_RETURN_IF_ERROR(build.files.Write(placeholder, "//"));

  std::future<bool> host = std::async(
      std::launch::async, [&] { return CompileHost(build, clang, flags, placeholder, object); });
  const Result<ProcessResult> compiled = build.processes.Run(NvccToPtx(build, {}, device));
  const bool host_done = host.get();
  if (!compiled.ok()) return compiled.error();
  KS_TRY(std::vector<Diagnostic> diagnostics, Messages(build, *compiled));
  if (!host_done) return nothing;

  KS_TRY(const std::string nvcc_ptx, build.files.Read(device));
  KS_TRY(const std::string object_bytes, build.files.Read(object));
  const Result<std::set<std::string>> literals = LiteralStrings(object_bytes);
  if (!literals.ok()) return nothing;
  const Result<std::string> ptx = NamesAsRegistered(nvcc_ptx, *literals);
  if (!ptx.ok()) return nothing;
  KS_RETURN_IF_ERROR(build.files.Write(build.scratch / "candidate.ptx", *ptx));
  // The PTX text itself takes the fat binary's place, ended by a zero byte as a string is.
  const fs::path section = build.scratch / "section";
  KS_RETURN_IF_ERROR(build.files.Write(section, *ptx + '\0'));
  const auto runs = [&](std::vector<std::string> argv) {
    const Result<ProcessResult> result = build.processes.Run(Walled(build, std::move(argv)));
    return result.ok() && result->exit_code == 0;
  };
  // Without kernels clang writes no fat binary.
  if ((HasSection(object_bytes, ".nv_fatbin") &&
       !runs({"objcopy", "--update-section", ".nv_fatbin=" + section.string(), object.string()})) ||
      !runs({clang.path.string(), "-shared", object.string(), "-o",
             (build.scratch / "host.so").string()})) {
    return nothing;
  }
  return std::optional(std::move(diagnostics));
}

}  // namespace kernelsmith
