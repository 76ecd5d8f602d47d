// Compiling: a candidate's `.cu` becomes PTX and a host library. PyTorch's own headers cost half a
// minute, so our light ones (include/) stand in for them: a handle class and the API that kernels
// really use.
#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compile/host_library_scan.h"
#include "support/file_system.h"
#include "support/result.h"
#include "support/settings.h"
#include "support/subprocess.h"
#include "support/tool_finder.h"

namespace kernelsmith {

struct CompileOptions {
  std::filesystem::path cache;      // folder for results, by content; empty: the user's cache
  std::filesystem::path headers;    // the light headers; empty: beside this program
  std::string architecture = "90";  // compute_<architecture>
  std::vector<std::string> flags;   // more for nvcc, e.g. --use_fast_math
  bool nvcc_only = false;           // no host code by clang, which is three times as fast
  std::chrono::milliseconds timeout{120'000};
  std::vector<HostWall> removed_walls;  // for tests alone: what they find is left out
};

enum class CandidateStyle {
  kTorch,     // torch extension: PYBIND11_MODULE, TORCH_LIBRARY, or a function `forward`
  kLauncher,  // plain CUDA: an extern "C" launcher with pointers and sizes
};

struct CompiledCandidate {
  std::filesystem::path source;  // as the user named it
  std::string text;              // the source
  CandidateStyle style = CandidateStyle::kTorch;
  std::string ptx;                                // the PTX of the whole file
  std::filesystem::path ptx_path;                 // the same as a file, for messages
  std::filesystem::path host_library;             // only the tracer's child ever loads it
  std::vector<HostLibraryFinding> host_findings;  // what the host library could look at
  std::vector<Diagnostic> warnings;
  std::string key;  // the key of the cache: a hash of everything that went in
  bool cached = false;
  bool host_by_clang = false;
  std::chrono::nanoseconds duration{0};
};

// Safe to use from several threads.
class CandidateCompiler {
 public:
  // `folders` says where caches and headers are, unless the options of a call do.
  CandidateCompiler(FileSystem& files, ProcessRunner& processes, ToolFinder& tools,
                    FolderSettings folders)
      : files_(files), processes_(processes), tools_(tools), folders_(std::move(folders)) {}

  // Errors of the compiler come with the candidate's own lines. kUnsupported: it uses an API that
  // the light headers lack; the message names it.
  Result<CompiledCandidate> Compile(const std::filesystem::path& source,
                                    const CompileOptions& options);

  // PTX in which math functions (__nv_expf and friends: vgpu/math/libdevice.h) stay calls, for the
  // algebra. The virtual GPU runs it. Cached too.
  Result<std::string> CompileVisibleMath(const CompiledCandidate& candidate,
                                         const CompileOptions& options);

 private:
  Result<Tool> Nvcc();
  std::optional<Tool> Clang();
  Result<std::filesystem::path> VisibleLibrary(const Tool& nvcc,
                                               const std::filesystem::path& cache);

  FileSystem& files_;
  ProcessRunner& processes_;
  ToolFinder& tools_;
  FolderSettings folders_;
  std::mutex mutex_;  // of what follows: tools are looked for once
  std::optional<Tool> nvcc_;
  std::optional<std::optional<Tool>> clang_;
};

}  // namespace kernelsmith
