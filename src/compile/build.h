// The two ways from a candidate's source to candidate.ptx and host.so. Private to src/compile.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "compile/host_library_scan.h"
#include "support/subprocess.h"
#include "support/tool_finder.h"

namespace kernelsmith {

struct Build {
  ProcessRunner& processes;
  FileSystem& files;
  const CompileOptions& options;
  Tool nvcc;
  std::filesystem::path cache;    // for precompiled headers
  std::filesystem::path headers;  // the light headers
  std::string headers_hash;
  std::filesystem::path scratch;  // results go there
  std::filesystem::path input;    // the file to compile; its own headers are beside it
  std::filesystem::path source;   // as the user named it
  std::string text;               // the source
  CandidateStyle style = CandidateStyle::kTorch;
  bool extended_lambdas = false;                     // nvcc gets --extended-lambda
  std::vector<std::filesystem::path> real_includes;  // instead of `headers`; empty: `headers`
};

// Says that this process uses an entry of `cache`, the folder of candidates (support/cache.h).
void UseCached(const CompileOptions& options, const std::filesystem::path& cache,
               const std::filesystem::path& entry);

// The request as it may run: with the toolchain, the light headers and the scratch folder in sight,
// and `readable` beside them.
ProcessRequest Walled(const Build& build, std::vector<std::string> argv,
                      const std::vector<std::filesystem::path>& readable = {});

// One run of nvcc makes both, so that names of kernels agree whatever the source does.
Result<std::vector<Diagnostic>> BuildByNvcc(const Build& build);

// PTX by nvcc and, at the same time, host code by clang with precompiled light headers: a third of
// the time. Nothing: clang refuses the source, or its names can't be matched with the PTX's, or a
// tool is missing; then BuildByNvcc decides. An error is nvcc's own about the device code.
Result<std::optional<std::vector<Diagnostic>>> BuildFast(const Build& build, const Tool& clang);

// nvcc with the options that every way of compiling shares, up to the source file. `-ptx` and
// `more` are among them.
ProcessRequest NvccToPtx(const Build& build, const std::vector<std::string>& more,
                         const std::filesystem::path& target,
                         const std::vector<std::filesystem::path>& readable = {});

// Which limit ended a compiler, in words; empty: none did. A candidate can make this text appear,
// and gains nothing by it: a limit is no verdict.
std::string LimitReached(const CompileOptions& options, const ProcessResult& result);

// Diagnostics of a run, or the error that it ended with: kTimeout for a limit of ours.
Result<std::vector<Diagnostic>> Messages(const Build& build, const ProcessResult& result);

// What the host library that was built has against it, with places in the candidate.
Result<std::vector<HostLibraryFinding>> ScanBuiltLibrary(const Build& build);

}  // namespace kernelsmith
