// Counters of everything that a plan does: what an estimate is made of.
#pragma once

#include <string>
#include <vector>

#include "counters/counter_observer.h"
#include "device/observable_device.h"
#include "measure/eager_model.h"
#include "measure/measured_plan.h"
#include "support/tool_finder.h"

namespace kernelsmith {

// One step of a plan that takes time on a GPU.
struct StepProfile {
  enum class Kind { kLaunch, kFill, kCopy, kUpload, kLibrary };
  Kind kind = Kind::kLaunch;
  size_t step = 0;   // in Plan::steps
  std::string name;  // the kernel's or the operator's
  uint32_t stream = 0;
  counters::LaunchCounters counters;  // counters of a launch
  uint64_t bytes = 0;                 // bytes that any other step reads and writes
  EagerOperator library;              // the library's operator
};
const char* Name(StepProfile::Kind kind);

struct PlanProfile {
  std::vector<StepProfile> steps;
  bool registers_from_ptxas = false;
  // Why the run ended early; steps behind it are missing.
  std::string failure;
  FindingKind failure_kind = FindingKind::kLaunchError;
};

struct PlanProfileOptions {
  const GpuModel* gpu = &DefaultGpuModel();
  uint64_t max_blocks = 96;  // see counters::CounterOptions
  uint64_t max_instructions = 20'000'000;
  uint64_t seed = 1;
  // Runs blocks that are not watched from the start. Otherwise they run only if the kernels go
  // wrong without them: times seldom depend on values, and running all can take minutes.
  bool run_all_blocks = false;
};

Result<PlanProfile> ProfilePlan(const MeasuredPlan& plan, ObservableDevice& device,
                                ToolFinder& tools, ProcessRunner& processes,
                                const PlanProfileOptions& options = {});

nlohmann::json ToJson(const PlanProfile& profile);
std::string ToText(const PlanProfile& profile);

}  // namespace kernelsmith
