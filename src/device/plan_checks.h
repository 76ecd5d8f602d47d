// Tells checkers what a plan's host side does while a device runs it: buffers are allocations with
// the names of the tensors they hold, inputs may only be read, streams and events order the steps,
// and outputs are looked at in the end.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "checkers/checker.h"
#include "device/observable_device.h"

namespace kernelsmith {

class PlanChecks final : public StepObserver {
 public:
  struct Options {
    // Where in the candidate's source a step is; may be empty.
    std::function<checkers::Place(const PlanStep&)> place;
    // Inputs that the task changes in place, by their number among the tensors of the arguments.
    std::vector<bool> may_write;
  };
  // All must outlive the run.
  PlanChecks(const Plan& plan, checkers::CheckerList& list, vgpu::VirtualGpu& gpu,
             Options options = {});

  void OnBuffers(const std::vector<uint64_t>& addresses, const vgpu::DeviceMemory& memory) override;
  void OnInputs(const std::vector<const CallArgument*>& inputs) override;
  void BeforeStep(const PlanStep& step) override;
  void AfterStep(const PlanStep& step) override;
  void OnOutputs() override;
  uint64_t operation() const override { return operation_; }

 private:
  uint64_t AddressOf(const BufferRef& ref) const { return addresses_[ref.buffer] + ref.offset; }
  void Order(const PlanStep& step);

  const Plan& plan_;
  checkers::CheckerList& list_;
  vgpu::VirtualGpu& gpu_;
  Options options_;
  std::vector<uint64_t> addresses_;
  uint64_t operation_ = 0;
  std::map<uint32_t, uint64_t> last_;    // operation of each stream
  std::map<uint32_t, uint64_t> events_;  // the operation that an event recorded
};

}  // namespace kernelsmith
