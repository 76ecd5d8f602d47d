// How long a candidate's plan takes, beside the least that its task needs and beside PyTorch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "measure/eager_model.h"
#include "measure/estimate.h"
#include "measure/plan_profile.h"

namespace kernelsmith {

// What no implementation can do without: the inputs that the task reads and the outputs it writes,
// each byte once through DRAM; its products and convolutions on tensor cores.
struct TaskFloor {
  double bytes = 0;
  double flops = 0;
  double Seconds(const GpuModel& gpu) const;
};
TaskFloor FloorOf(const Graph& graph, const std::vector<EagerOperator>& eager);

struct PlanEstimate {
  struct Step {
    std::string name;
    double seconds = 0;                    // on the device
    std::optional<LaunchEstimate> launch;  // unless it is a copy, a fill or a library's operator
  };
  double seconds = 0;         // the call: overhead, launches, device
  double device_seconds = 0;  // the part on the device
  double floor_seconds = 0;   // see TaskFloor
  bool at_floor = false;      // the model said less than the floor, which counts
  std::vector<Step> steps;
  std::string limit;  // what limits the longest step
};
// Steps one after the other, whatever stream they are in.
PlanEstimate EstimatePlan(const PlanProfile& profile, const TaskFloor& floor, const GpuModel& gpu,
                          const CallOverhead& overhead = {});

nlohmann::json ToJson(const PlanEstimate& estimate);

// The "steps" of that document in one line, "scale<4> 1.20 us, DRAM; copy 0.40 us". An archive may
// have plain texts in place of steps, which stay as they are.
std::string StepsText(const nlohmann::json& steps);

// All of it for one candidate: profile, floor, times of the candidate and of PyTorch.
struct CandidateEstimate {
  PlanProfile profile;
  TaskFloor floor;
  PlanEstimate candidate;
  EagerEstimate eager;
  double Speedup() const { return eager.seconds / candidate.seconds; }
};
// A candidate whose kernels go wrong is an error.
Result<CandidateEstimate> EstimateCandidate(const MeasuredPlan& plan, ObservableDevice& device,
                                            ToolFinder& tools, ProcessRunner& processes,
                                            const PlanProfileOptions& options = {});

}  // namespace kernelsmith
