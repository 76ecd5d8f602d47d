// A device whose runs can be watched, access by access, and whose order of execution can be chosen:
// the virtual GPU. Checkers, counters and the algebra need one; a real GPU is none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "vgpu/vgpu.h"

namespace kernelsmith {

// Sees what happens to a plan's buffers apart from kernels, which vgpu::Observer sees.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Addresses of the plan's buffers in `memory`, before anything is in them.
  virtual void OnBuffers(const std::vector<uint64_t>& addresses, const vgpu::DeviceMemory& memory) {
  }
  // The inputs were written: for the preparation, then for the plan.
  virtual void OnInputs(const std::vector<const CallArgument*>& inputs) {}
  virtual void BeforeStep(const PlanStep& step) {}
  virtual void AfterStep(const PlanStep& step) {}
  // All steps are done; the outputs are read next. Not after a failure.
  virtual void OnOutputs() {}
  // vgpu::LaunchRequest::operation of the launch that begins.
  virtual uint64_t operation() const { return 0; }
};

// Who looks on while a plan runs, and how its kernels are launched.
struct Watch {
  vgpu::Observer* observer = nullptr;  // sees the plan's launches
  StepObserver* steps = nullptr;
  bool preparation = false;  // both see the preparation as well
  uint64_t schedule = 0;     // vgpu::LaunchRequest::schedule of every launch
  // How kernels that `observer` sees are launched; empty: as they are.
  std::function<Result<vgpu::LaunchResult>(vgpu::VirtualGpu&, const vgpu::LaunchRequest&)> launch =
      {};
};

struct WatchedLaunch {
  size_t step = 0;
  std::string kernel;
  vgpu::LaunchStatistics statistics;
  bool may_depend_on_order = false;  // it has atomics or the like (vgpu/block_interaction.h)
};

struct WatchedRun : RunOutcome {
  std::optional<vgpu::Fault> fault;  // of a kernel: what the failure is about
  std::vector<WatchedLaunch> launches;
};

class ObservableDevice : public Device {
 public:
  Result<RunOutcome> Run(const RunRequest& request) final {
    KS_TRY(WatchedRun run, RunWatched(request, {}));
    return RunOutcome(std::move(run));
  }
  virtual Result<WatchedRun> RunWatched(const RunRequest& request, const Watch& watch) = 0;
  // What checkers and counters attach to.
  virtual vgpu::VirtualGpu& gpu() = 0;
};

struct VirtualDeviceOptions {
  // Whoever judges must come to an end, also with a kernel that does not.
  vgpu::VirtualGpu::Options gpu{.time_limit = std::chrono::seconds(120)};
};
Result<std::unique_ptr<ObservableDevice>> MakeVirtualDevice(VirtualDeviceOptions options = {});

}  // namespace kernelsmith
