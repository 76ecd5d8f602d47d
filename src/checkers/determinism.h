// Does what a launch computes depend on the order in which blocks, warps and atomics take their
// turns? Runs it again in other orders that a GPU might take and compares all memory.
//
// Only kernels that could depend on it (vgpu/block_interaction.h) are run again: without atomics,
// volatile and the like, and without a race, every order gives the same. Nor is anything run again
// while there is memory that host code may write at the same time (pinned, managed, registered).
#pragma once

#include <functional>

#include "checkers/checker.h"
#include "support/result.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::checkers {

struct DeterminismLimits {
  uint64_t bytes = uint64_t{512} << 20;  // the most bytes of all allocations: they are copied twice
  uint64_t instructions = uint64_t{50} << 20;  // the most instructions of warps in the first run
  // Sums of a few numbers come out the same in most orders: many are tried, until one differs or
  // so many instructions of warps went into it. Two are tried in any case.
  uint64_t orders = 12;
  uint64_t budget = uint64_t{8} << 20;
  // Asked after the first run: false if something else used the memory meanwhile. From then on
  // until the end nothing else may.
  std::function<bool()> may_repeat;
};

struct MemoryRange {
  uint64_t address = 0;
  uint64_t bytes = 0;
};
using OrderReport = std::function<void(Finding, const std::vector<MemoryRange>&)>;

// As gpu.Launch(request); memory and the result are those of that run. Nothing else may use the
// memory meanwhile; see DeterminismLimits::may_repeat.
Result<vgpu::LaunchResult> LaunchInSeveralOrders(vgpu::VirtualGpu& gpu,
                                                 const vgpu::LaunchRequest& request,
                                                 const OrderReport& report,
                                                 const DeterminismLimits& limits = {});
Result<vgpu::LaunchResult> LaunchInSeveralOrders(vgpu::VirtualGpu& gpu,
                                                 const vgpu::LaunchRequest& request,
                                                 FindingSink& sink,
                                                 const DeterminismLimits& limits = {});

// Holds findings back until the host looks at what they are about: the order of a work queue is
// nobody's business, that of results is. What the host never looks at becomes a note.
class OrderChecker final : public Checker {
 public:
  explicit OrderChecker(FindingSink& sink) : Checker(sink) {}
  uint32_t interests() const override { return 0; }
  std::optional<vgpu::ScreenChecks> ScreenedChecks() const override { return vgpu::ScreenChecks{}; }
  void Add(Finding finding, const std::vector<MemoryRange>& where);
  void OnCopy(const HostCopy& copy) override;
  void OnFill(const HostCopy& fill) override;
  void OnHostRead(uint64_t address, uint64_t bytes, const Place& where) override;
  void Finish() override;

 private:
  struct Held {
    Finding finding;
    std::vector<MemoryRange> where;
  };
  void Overwritten(uint64_t address, uint64_t bytes);
  std::mutex mutex_;  // Add comes from the thread of a launch
  std::vector<Held> held_;
};

}  // namespace kernelsmith::checkers
