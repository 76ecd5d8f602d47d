// Verifies a candidate: compiles it, traces its host code into a plan, runs the plan on a device
// with data that the candidate has never seen, watches it, and compares what comes out with the
// oracle, as numbers and as algebra.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "candidate/candidate.h"
#include "device/observable_device.h"
#include "support/clock.h"
#include "support/file_system.h"
#include "support/progress.h"
#include "support/result.h"
#include "tasks/task.h"
#include "verify/verdict.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

// What a candidate is held to.
struct VerifyPolicy {
  enum class Inputs {
    kTask,        // the task's own values decide; trouble on harsh ones is a warning, `unstable`
    kStructured,  // large, tiny, shifted values decide as well
  };
  enum class Shapes {
    kTask,    // every configuration of the task; drawn ones too, unless it has a single one
    kFamily,  // drawn ones decide for a task with a single configuration as well
    kExact,   // the first configuration alone, as the task gives it
  };
  // What decides beside the task's own calls (verdict.h, DomainFacet).
  enum class Domain {
    kTask,    // nothing: what does not hold narrows the verdict, and its first line says so
    kStrict,  // all of it
  };
  Inputs inputs = Inputs::kTask;
  Domain domain = Domain::kTask;
  Shapes shapes = Shapes::kTask;
  bool no_libraries = false;           // the work may not be delegated to ATen or cuBLAS
  bool require_deterministic = false;  // bit for bit the same under every schedule
  std::string precision = "task";      // task, tf32, float16, bfloat16: arithmetic that is allowed
  std::vector<std::string> allow;      // words of kAllowWords: what may decide in kernels

  bool Allows(std::string_view word) const {
    return std::find(allow.begin(), allow.end(), word) != allow.end();
  }
};

// What must not decide a branch or come out of a kernel unless it is allowed: clocks, ids of SMs,
// warps and grids, bits of addresses, memory and registers that nothing was written to.
inline constexpr const char* kAllowWords[] = {"clocks", "sm_ids", "addresses", "uninitialised"};

struct VerifyOptions {
  TaskDirection direction = TaskDirection::kForward;
  std::string dtype = "task";
  const GpuModel* gpu = &DefaultGpuModel();  // the one that the device poses as
  // Of all data; secret from the candidate. PyTorch's own draws depend on its upper half alone
  // (unless that is 0): callers that keep the upper half from one verification to the next have
  // those in the cache, and PyTorch need not start.
  uint64_t seed = 0;
  int draws = 2;              // data sets of the task's own inputs, at the first configuration
  size_t configurations = 6;  // at most; the quick ones first, then hidden ones
  int64_t work = 20'000'000;  // larger configurations are reduced to this many operations
  // The same for one of those that are meant for timing, which is judged beside the others: large
  // enough that loops over blocks and splits of sums take more than one turn. 0: none of them.
  int64_t timing_work = 4'000'000;
  // Operations of the task (work.h) that structured inputs may cost in all: about two seconds.
  uint64_t structured_budget = 400'000'000;
  double rtol = 1e-3;  // the tolerance of the allclose that is shown beside our own comparison
  double atol = 1e-3;
  bool algebra = true;
  bool checkers = true;
  VerifyPolicy policy;
};

// The outside world of a verification. One set serves any number of verifications: the task store
// keeps its PyTorch process and its answers.
struct VerifyTools {
  TaskStore& tasks;
  ObservableDevice& device;
  FileSystem& files;
  const Clock& clock;
  Progress& progress;
};

// An error means that the question could not be asked (no such task, a tool is missing); everything
// about the candidate is in the verdict.
Result<Verdict> Verify(const Task& task, Candidate& candidate, const VerifyOptions& options,
                       const VerifyTools& tools);

// Only this counterexample again: compile, plan, one case.
Result<Verdict> Replay(const Task& task, Candidate& candidate, const Counterexample& example,
                       const VerifyOptions& options, const VerifyTools& tools);

}  // namespace kernelsmith
