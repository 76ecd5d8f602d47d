// A candidate's verdict and, only if it is verified, its time at every shape that is timed.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/plan_estimate.h"
#include "measure/timing.h"
#include "verify/verify.h"

namespace kernelsmith {

// All times in seconds.
struct BenchShape {
  std::string configuration;
  double candidate = 0;
  double eager = 0;  // PyTorch's eager mode
  double floor = 0;  // what the task's bytes and operations take, calls and launches apart
  double speedup = 0;
  bool at_floor = false;      // the model said less than the floor
  bool launch_bound = false;  // eager is mostly calls and launches: a tiny shape
  std::string limit;          // what limits the candidate
  std::string problem;        // why there is no time; then the numbers above are 0
};

struct BenchResult {
  std::string task;
  std::string candidate;  // as it was named
  std::string direction;
  std::string dtype;
  std::string verdict;               // a word of VerdictKind, or error
  std::string reason;                // why the verdict is not verified
  std::vector<std::string> remarks;  // kinds of the verifier's warnings and notes
  std::vector<BenchShape> shapes;    // none unless verified
  std::string kind = "estimated";    // what all times are
  std::string gpu;
  double seconds = 0;  // what the verdict and the times took here

  bool verified() const { return verdict == "verified"; }
  // Geometric mean over all shapes. None unless verified with a time at each shape: neither a wrong
  // kernel nor one that leaves out its bad shapes gets a speed.
  std::optional<double> Speedup() const;
};

struct BenchOptions {
  VerifyOptions verify;
  const GpuModel* gpu = &DefaultGpuModel();
  uint64_t max_blocks = 48;  // blocks of a launch that are watched
};

struct BenchTools {
  VerifyTools verify;
  ToolFinder& finder;
  ProcessRunner& processes;
};

// An error means that the question could not be asked.
Result<BenchResult> BenchCandidate(const Task& task, const std::shared_ptr<Candidate>& candidate,
                                   const BenchOptions& options, const BenchTools& tools);

// The configurations that are timed: those of the group timing, or all if it has none.
std::vector<TaskConfiguration> TimedConfigurations(const Task& task, TaskDirection direction);

nlohmann::json ToJson(const BenchResult& result);
// Nothing if it is not of that form.
std::optional<BenchResult> ParseBenchResult(const nlohmann::json& document);

// What a set of candidates comes to.
struct BenchSummary {
  int candidates = 0;
  int verified = 0;
  int timed = 0;  // those with a time at every shape
  // Over the speeds of verified candidates.
  std::optional<double> speedup;
  // Over the fastest of each task, direction and dtype.
  std::optional<double> best_speedup;
  int groups = 0;  // of the best
};
BenchSummary SummariseBench(const std::vector<BenchResult>& results);

}  // namespace kernelsmith
