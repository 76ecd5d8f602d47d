// What all candidates of one optimisation are judged by: made once, then only read.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "device/device.h"
#include "measure/measured_plan.h"
#include "measure/plan_estimate.h"
#include "support/clock.h"
#include "tasks/task.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

struct OptimizeRequest {
  TaskDirection direction = TaskDirection::kForward;
  std::string dtype = "task";
  std::string configuration;  // whose time counts; empty: the first of the group timing
  const GpuModel* gpu = &DefaultGpuModel();
  uint64_t seed = 1;
  uint64_t blocks = 48;  // of a launch that are counted
};

// The outside world of an optimisation.
struct OptimizeTools {
  TaskStore& tasks;
  FileSystem& files;
  ProcessRunner& processes;
  ToolFinder& tools;
  const Clock& clock;
};

struct OptimizeSubject {
  Task task;
  OptimizeRequest request;
  std::filesystem::path scratch;              // sources of candidates, by content
  std::shared_ptr<const MeasuredCall> timed;  // the call whose time counts
  std::shared_ptr<const MeasuredCall> quick;  // the smallest one, null if there is no other
  TaskFloor floor;
  EagerEstimate eager;
  double floor_seconds = 0;  // of the device, however it is done
  uint64_t verify_seed = 0;  // of all data; the same for all candidates, so that the oracle's
                             // answers serve all of them
};
Result<OptimizeSubject> MakeOptimizeSubject(const Task& task, const OptimizeRequest& request,
                                            const std::filesystem::path& scratch,
                                            const OptimizeTools& tools);

// Compilers and devices for threads: each has one to itself while it works.
class Workshop {
 public:
  explicit Workshop(const OptimizeTools& tools) : tools_(tools) {}

  struct Bench {
    std::unique_ptr<CandidateCompiler> compiler;
    std::unique_ptr<Device> device;
  };
  class Lease {
   public:
    Lease(Workshop& workshop, std::unique_ptr<Bench> bench)
        : workshop_(&workshop), bench_(std::move(bench)) {}
    Lease(Lease&&) = default;
    ~Lease() {
      if (bench_ != nullptr) workshop_->Return(std::move(bench_));
    }
    Bench* operator->() const { return bench_.get(); }

   private:
    Workshop* workshop_;
    std::unique_ptr<Bench> bench_;
  };
  Result<Lease> Take();
  const OptimizeTools& tools() const { return tools_; }

 private:
  void Return(std::unique_ptr<Bench> bench);

  OptimizeTools tools_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Bench>> free_;
};

}  // namespace kernelsmith
