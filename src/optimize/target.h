// What all candidates of one optimisation are judged by: made once, then only read.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "candidate/cuda_file.h"
#include "device/observable_device.h"
#include "measure/measured_plan.h"
#include "measure/plan_estimate.h"
#include "support/clock.h"
#include "support/settings.h"
#include "tasks/task.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

struct OptimizeRequest {
  TaskDirection direction = TaskDirection::kForward;
  std::string dtype = "task";
  std::string configuration;  // whose time counts; empty: the first of the group timing
  const GpuModel* gpu = &DefaultGpuModel();
  uint64_t seed = 1;
  uint64_t blocks = 48;                 // of a launch that are counted
  std::vector<std::string> allow = {};  // VerifyPolicy::allow
};

// The outside world of an optimisation.
struct OptimizeTools {
  TaskStore& tasks;
  FileSystem& files;
  ProcessRunner& processes;
  ToolFinder& tools;
  const Clock& clock;
  const Settings& settings;
};

struct OptimizeTarget {
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
Result<OptimizeTarget> MakeOptimizeTarget(const Task& task, const OptimizeRequest& request,
                                          const std::filesystem::path& scratch,
                                          const OptimizeTools& tools);

// What judges candidates on several threads: a device for each thread while it works, and the
// candidates themselves, so that none is compiled or traced twice.
class JudgePool {
 public:
  explicit JudgePool(const OptimizeTools& tools)
      : tools_(tools),
        compiler_(tools.files, tools.processes, tools.tools, tools.settings.folders) {}

  class DeviceLease {
   public:
    DeviceLease(JudgePool& pool, std::unique_ptr<ObservableDevice> device)
        : pool_(&pool), device_(std::move(device)) {}
    DeviceLease(DeviceLease&&) = default;
    ~DeviceLease() {
      if (device_ != nullptr) pool_->Return(std::move(device_));
    }
    ObservableDevice& operator*() const { return *device_; }

   private:
    JudgePool* pool_;
    std::unique_ptr<ObservableDevice> device_;
  };
  Result<DeviceLease> TakeDevice();

  // The candidate in this file; the same object for as long as somebody has it.
  std::shared_ptr<Candidate> Open(const std::filesystem::path& file);
  // Holds it until the end of the run: one that may be the best is judged again.
  void Keep(std::shared_ptr<Candidate> candidate);

  const OptimizeTools& tools() const { return tools_; }
  const CandidateCounter& counter() const { return counter_; }

 private:
  void Return(std::unique_ptr<ObservableDevice> device);

  OptimizeTools tools_;
  CandidateCompiler compiler_;
  CandidateCounter counter_;
  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<ObservableDevice>> free_;
  std::map<std::filesystem::path, std::weak_ptr<Candidate>> known_;
  std::vector<std::shared_ptr<Candidate>> kept_;
};

}  // namespace kernelsmith
