// Tells checkers what a plan's host side does while a device runs it: buffers are allocations with
// the names of the tensors they hold, inputs may only be read, streams and events order the steps,
// and outputs are looked at in the end.
//
// The caller is a program on the default stream: before the call it has written the inputs there,
// afterwards it reads the results and uses all other memory again. What a plan does on other
// streams must be ordered with that.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "checkers/checker.h"
#include "device/observable_device.h"

namespace kernelsmith {

// Whether a step of the plan is on another stream than the default one, or may begin before its
// time.
bool StepsMayOverlap(const Plan& plan);

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
  // 0 where the steps run one after the other and nothing can overlap.
  uint64_t operation() const override { return overlaps_ ? operation_ : 0; }

 private:
  uint64_t AddressOf(const BufferRef& ref) const { return addresses_[ref.buffer] + ref.offset; }
  void Order(const PlanStep& step);
  void Wait(const PlanStep& step, const EventStep& event);
  void Submit(const PlanStep& step);
  void SubmitCaller();
  void CallerGoesOn();
  std::vector<uint64_t> After(const PlanStep& step) const;

  const Plan& plan_;
  checkers::CheckerList& list_;
  vgpu::VirtualGpu& gpu_;
  Options options_;
  std::vector<uint64_t> addresses_;
  // Some step is on another stream than the default one, or may begin before its time.
  const bool overlaps_;
  uint64_t operation_ = 0;
  struct Last {
    // More than one where the last kernel may run beside the one before it.
    std::vector<uint64_t> operations;
    std::vector<uint64_t> after;  // what the last of them waits for
    bool apart = false;           // the stream
    bool kernel = false;
  };
  std::map<uint32_t, Last> last_;  // of each stream
  // The operations that an event recorded.
  std::map<uint32_t, std::vector<uint64_t>> events_;
};

}  // namespace kernelsmith
