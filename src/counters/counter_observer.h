// Counts what kernels do. One object watches all launches of a program or plan, so that the model
// of L2 knows what earlier launches left in it.
//
//   CounterObserver observer({.gpu = &DefaultGpuModel(), .memory = &gpu.memory()});
//   gpu.Launch({..., .observer = &observer});
//   observer.launches().back().SectorsPerLoad();
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "counters/cache_model.h"
#include "counters/counters.h"
#include "vgpu/memory.h"
#include "vgpu/observer.h"

namespace kernelsmith::counters {

struct CounterOptions {
  const GpuModel* gpu = &DefaultGpuModel();
  // Sizes of allocations bound what the blocks that nobody watches can touch; may be null.
  const vgpu::DeviceMemory* memory = nullptr;
  // So many blocks of a bigger grid are watched, half of them neighbours (blocks that run at the
  // same time share data through L2), half at random; 0: always all.
  uint64_t max_blocks = 96;
  // Watching ends behind the block (but the fourth at the earliest) in which a launch has executed
  // so many warp instructions: one or two seconds. 0: no limit.
  uint64_t max_instructions = 20'000'000;
  uint64_t seed = 1;
  // Blocks that are not watched run nevertheless (as compiled code). False: their results are
  // missing; for kernels whose control flow does not depend on them.
  bool run_others = true;
  // Called before the first launch of a module's kernels.
  std::function<void(const ptx::Module&)> on_module;
  // Called at the end of each launch.
  std::function<void(const LaunchCounters&)> on_launch;
};

class CounterObserver final : public vgpu::Observer {
 public:
  explicit CounterObserver(CounterOptions options);
  ~CounterObserver() override;

  const std::vector<LaunchCounters>& launches() const { return launches_; }
  // As if other work had run in between.
  void FlushL2();

  uint32_t interests() const override {
    return vgpu::interest::kInstructions | vgpu::interest::kAccesses;
  }
  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override;
  vgpu::BlockChoice ChooseBlocks(const vgpu::LaunchInfo& launch) override;
  bool WantsMoreBlocks() override;
  void OnLaunchEnd(const vgpu::Fault* fault) override;
  void OnPause(uint64_t launch_id) override;
  void OnResume(uint64_t launch_id) override;
  void OnBlockBegin(uint64_t block_number) override;
  void BeforeInstruction(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;
  void AfterInstruction(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;
  bool OnMemoryAccess(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override;
  void OnBarrier(vgpu::WarpView& warp, const vgpu::BarrierEvent& event) override;

 private:
  struct Launch;  // what is known of one that runs

  CounterOptions options_;
  // Launches of several threads take turns, as in checkers::CheckerList: each holds the lock from
  // its begin to its end, except while its blocks give way.
  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<Launch>> running_;
  Launch* current_ = nullptr;
  SectoredCache l2_;
  std::set<const ptx::Module*> modules_;  // seen
  std::vector<LaunchCounters> launches_;
};

}  // namespace kernelsmith::counters
