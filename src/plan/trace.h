// Tracing: a candidate's host code runs in a sandboxed child process, and what it asks of the GPU
// becomes a plan. It runs twice in each of two children that have other data and other addresses:
// the first call is the preparation, the second the plan; what differs between the children shows
// which bytes are pointers, and whether the plan depends on data.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "plan/argument.h"
#include "plan/merge.h"
#include "plan/plan.h"
#include "support/finding_kind.h"
#include "support/result.h"
#include "support/subprocess.h"

namespace kernelsmith {

// One fact about the host code that keeps it from having a plan.
struct HostFinding {
  FindingKind kind = FindingKind::kUnsupported;
  std::string message;
  SourceLocation where;        // in the candidate; file empty: not known
  bool out_of_memory = false;  // it happened for want of device memory
};
// Of the kind of a HostFinding: true where the candidate itself is at fault; false where it is only
// more than we can do. kFailedLaunch stands beside a plan, and the results say whether it matters.
bool Refutes(FindingKind kind);

struct TraceOutcome {
  std::optional<Plan> plan;  // none: the first finding says why
  // TraceOptions::direct: what the candidate's own run gave, row-major, as the plan lists outputs.
  std::vector<std::vector<std::byte>> direct;
  std::vector<HostFinding> findings;  // may be there beside a plan: refused system calls
  std::string printed;                // what the candidate wrote to standard output and error
  std::chrono::nanoseconds duration{0};
};

struct TraceOptions {
  std::filesystem::path tracer;      // empty: kernelsmith-tracer beside this program
  std::string function = "forward";  // what to call
  std::chrono::milliseconds timeout{20'000};
  uint64_t memory_bytes = uint64_t{4} << 30;  // host memory of the child
  // What cudaMalloc hands out: an H100 has as much, and no page of it is touched.
  uint64_t device_memory_bytes = uint64_t{80} << 30;
  size_t max_reply = size_t{512} << 20;
  // Shapes and dtypes of the results, for candidates whose launcher writes into given outputs.
  std::vector<PlanTensor> results;
  // For tests that show what a wall is good for: names of walls (src/plan/walls.h) that are
  // left out. Nothing that a user or a candidate says gets here.
  std::vector<std::string> without_walls;
  bool direct = false;  // run the candidate's kernels in the child too, and give its results
  PlanLimits limits;
  MergeOptions merge;
};

// `arguments` hold data on which the host code may look: values of the task's distribution. Blank
// ones are zeros, and plans that come from them tell nothing of what depends on data. An
// error means that tracing itself was not possible (no tracer program).
Result<TraceOutcome> Trace(const CompiledCandidate& candidate,
                           const std::vector<CallArgument>& arguments, const TraceOptions& options,
                           ProcessRunner& processes);

// What the sandbox does on this machine.
struct SandboxState {
  std::vector<std::string>
      walls;  // those that stand: "seccomp", "landlock", "namespaces", "memory"
  // What a candidate of ours tried to get at (src/plan/host/probe.cc), and whether it was kept out.
  std::map<std::string, bool> tried;
};
// Without seccomp nothing is traced at all: that is an error.
Result<SandboxState> TrySandbox(ProcessRunner& processes);

// The place in the candidate of each site (PlanStep::site); those not found have an empty file.
std::vector<SourceLocation> ResolveSites(const CompiledCandidate& candidate,
                                         const std::vector<uint64_t>& sites,
                                         ProcessRunner& processes);

}  // namespace kernelsmith
