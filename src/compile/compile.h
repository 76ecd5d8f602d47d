// Compiling: a candidate's `.cu` becomes PTX and a host library. PyTorch's own headers cost half a
// minute, so our light ones (include/) stand in for them: a handle class and the API that kernels
// really use.
//
// A candidate's text can name files and can make compilers work without end, so every program that
// reads it sees nothing but its own installation, the headers and a scratch folder, within limits
// (support/toolchain_walls.h).
#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compile/host_library_scan.h"
#include "compile/own_headers.h"
#include "counters/ptxas.h"
#include "support/file_system.h"
#include "support/result.h"
#include "support/settings.h"
#include "support/subprocess.h"
#include "support/tool_finder.h"

namespace kernelsmith {

struct Build;  // build.h

struct CompileOptions {
  std::filesystem::path cache;      // folder for results, by content; empty: the user's cache
  std::filesystem::path headers;    // the light headers; empty: beside this program
  std::string architecture = "90";  // compute_<architecture>
  std::vector<std::string> flags;   // more for nvcc, e.g. --use_fast_math
  bool nvcc_only = false;           // no host code by clang, which is three times as fast
  // Limits of each program that takes part. The processor's time is the one that counts; the
  // clock's is for what sleeps, and generous: a busy machine gives little of it.
  std::chrono::seconds processor_time{100};
  std::chrono::milliseconds timeout{1'200'000};
  uint64_t memory = uint64_t{4} << 30;
  uint64_t file_size = uint64_t{256} << 20;
  // Takes the walls around compilers away, so that tests can show what the walls keep out. Only
  // code sets it: no setting and no option of a command does.
  bool unconfined_for_tests = false;
  // The same for what is refused by its text alone (conditionals.h), so that tests see the
  // compilers.
  bool any_text_for_tests = false;
  std::vector<HostWall> removed_walls;  // for tests alone: what they find is left out
};

enum class CandidateStyle {
  kTorch,     // torch extension: PYBIND11_MODULE, TORCH_LIBRARY, or a function `forward`
  kLauncher,  // plain CUDA: an extern "C" launcher with pointers and sizes
};

struct CompiledCandidate {
  std::filesystem::path source;  // as the user named it
  std::string text;              // the source
  // What was compiled: conditionals that PyTorch's headers decide in another way than ours are
  // decided in it (real_headers.h). Mostly the same as `text`.
  std::string decided_text;
  std::vector<OwnHeader> own_headers;
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

// A candidate's device code built with PyTorch's own headers, beside the one that was judged.
struct RealComparison {
  std::string not_compared;              // why; empty: it was
  std::vector<std::string> differences;  // in words; none: the same program
};

// Safe to use from several threads.
class CandidateCompiler {
 public:
  // `folders` says where caches and headers are, unless the options of a call do.
  CandidateCompiler(FileSystem& files, ProcessRunner& processes, ToolFinder& tools,
                    FolderSettings folders)
      : files_(files), processes_(processes), tools_(tools), folders_(std::move(folders)) {}

  // Errors of the compiler come with the candidate's own lines. kUnsupported: it uses an API that
  // the light headers lack; the message names it. kTimeout: a limit of the options was reached.
  Result<CompiledCandidate> Compile(const std::filesystem::path& source,
                                    const CompileOptions& options);

  // PTX in which math functions (__nv_expf and friends: vgpu/math/libdevice.h) stay calls, for the
  // algebra. The virtual GPU runs it. Cached too.
  Result<std::string> CompileVisibleMath(const CompiledCandidate& candidate,
                                         const CompileOptions& options);

  // What NVIDIA's assembler makes of the device code.
  counters::PtxasAnswer Assemble(const CompiledCandidate& candidate);

  // Builds the device code once more with PyTorch's headers, which takes a minute and a half: for
  // winners alone.
  Result<RealComparison> CompareWithRealHeaders(const CompiledCandidate& candidate,
                                                CompileOptions options);

  // Tries the walls for real: compiles a probe whose assembler reads a file beside the scratch
  // folder. True: it could not. Error: the probe does not compile for another reason.
  Result<bool> WallsStand();

 private:
  Result<Tool> Nvcc();
  std::optional<Tool> Clang();
  // What compiles a candidate in another way once more; its arguments outlive it.
  Build BuildAgain(const CompiledCandidate& candidate, const CompileOptions& options,
                   const Tool& nvcc, const std::filesystem::path& scratch,
                   const std::filesystem::path& input, const std::vector<OwnHeader>& own_headers);
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
