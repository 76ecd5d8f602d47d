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
  std::string gpu;  // the key of the model that host code sees; empty: as the settings have it
  std::chrono::milliseconds timeout{20'000};
  uint64_t memory_bytes = uint64_t{4} << 30;  // host memory of the child
  // What cudaMalloc hands out: an H100 has as much, and no page of it is touched.
  uint64_t device_memory_bytes = uint64_t{80} << 30;
  size_t max_reply = size_t{512} << 20;
  // Shapes and dtypes of the results, for candidates whose launcher writes into given outputs.
  std::vector<PlanTensor> results;
  // The caller has made a stream of its own the current one. The first step of the plan is the
  // record of an event on that stream.
  bool other_stream = false;
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

// One call of a sequence that differs from those before it, apart from where its own memory lies.
struct SequencePlan {
  size_t set = 0;       // its arguments
  uint32_t number = 0;  // of the call, counted from 1
  uint32_t times = 1;   // calls that do this, with this one
  // Earlier calls are its preparation where it uses what they left.
  CallPlan of_call;

  const Plan& plan() const { return of_call.plan; }
};

// What many calls in one process did.
struct CallHistory {
  std::vector<SequencePlan> plans;  // the first, the last and some between if there are many
  size_t different = 0;             // calls that differ from those before them
  uint32_t calls = 0;               // that were made
  uint32_t lost = 0;                // allocations that were left behind in the last `lost_in` calls
  uint32_t lost_in = 0;
};

struct SequenceOutcome {
  CallHistory history;
  std::vector<HostFinding> findings;  // without plans: the first one says why
  std::chrono::nanoseconds duration{0};
};

struct CallSet {
  std::vector<CallArgument> arguments;
  std::vector<PlanTensor> results;  // as TraceOptions::results
};
// Calls the function many times in one process: call i with the arguments `sets[sequence[i]]`.
// There are fewer calls where they are expensive: where kernels run because the host code looks at
// their results, or where a call asks much of the runtime.
Result<SequenceOutcome> TraceSequence(const CompiledCandidate& candidate,
                                      const std::vector<CallSet>& sets,
                                      const std::vector<uint32_t>& sequence,
                                      const TraceOptions& options, ProcessRunner& processes);

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
