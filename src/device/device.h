// A device runs plans: with its own buffers, data that the candidate has never seen, poisoned
// outputs and workspaces, and a freshly loaded module. `virtual` is the virtual GPU; a real GPU
// will be another.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/argument.h"
#include "plan/plan.h"
#include "support/result.h"
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

struct RunRequest {
  const Plan* plan = nullptr;
  std::string ptx;  // the candidate's module
  std::string ptx_name = "candidate.ptx";
  // The tensors of the arguments, flattened, as the plan's inputs number them.
  std::vector<const CallArgument*> inputs;
  // What the preparation gets; empty: the same. Other data than the plan's shows results that the
  // candidate keeps from one call to the next.
  std::vector<const CallArgument*> preparation_inputs;
  uint64_t poison_seed = 1;  // fresh memory is filled with bytes from it
  // False: only what the observer sees counts. Fresh memory has no poison and the outcome no
  // tensors, which at shapes for timing costs more than a sample of blocks does.
  bool results = true;
  vgpu::Observer* observer = nullptr;  // sees the launches of the plan, not of the preparation
  StepObserver* steps = nullptr;
  uint64_t schedule = 0;             // vgpu::LaunchRequest::schedule of every launch
  bool observe_preparation = false;  // `observer` and `steps` see the preparation as well
  // How kernels that `observer` sees are launched; empty: as they are.
  std::function<Result<vgpu::LaunchResult>(vgpu::VirtualGpu&, const vgpu::LaunchRequest&)> launch;
};

struct RunLaunch {
  size_t step = 0;
  std::string kernel;
  vgpu::LaunchStatistics statistics;
  bool may_depend_on_order = false;      // it has atomics or the like (vgpu/block_interaction.h)
  std::chrono::nanoseconds duration{0};  // the time of the simulation, not of a GPU
};

struct RunOutcome {
  // Why the run ended early; outputs are then empty.
  struct Failure {
    size_t step = 0;
    std::string message;
    std::optional<vgpu::Fault> fault;  // none: the launch was refused

    FindingKind kind() const {
      return fault ? FindingKindOf(fault->kind) : FindingKind::kLaunchError;
    }
  };
  std::optional<Failure> failure;
  std::vector<HostTensor> outputs;  // as the plan lists them, row-major
  // Elements that still hold the poison: never written. One flag an element, per output.
  std::vector<std::vector<bool>> unwritten;
  std::vector<HostTensor> inputs;   // the inputs after the run, row-major
  std::vector<bool> input_changed;  // any byte of the input's storage, gaps included
  std::vector<RunLaunch> launches;
  std::chrono::nanoseconds duration{0};
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string Name() const = 0;
  // An error: the plan can't be run here at all (unsupported instruction or operator, bad PTX). A
  // kernel that goes wrong is an outcome with a failure.
  virtual Result<RunOutcome> Run(const RunRequest& request) = 0;
  // What checkers attach to; null: a device that can't be watched.
  virtual vgpu::VirtualGpu* gpu() { return nullptr; }
};

struct VirtualDeviceOptions {
  // Whoever judges must come to an end, also with a kernel that does not.
  vgpu::VirtualGpu::Options gpu{.time_limit = std::chrono::seconds(120)};
};
Result<std::unique_ptr<Device>> MakeVirtualDevice(VirtualDeviceOptions options = {});

}  // namespace kernelsmith
