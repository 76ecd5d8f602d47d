// Which ways through the kernels were taken: instructions that ran, and sides of every comparison
// (so branches, guards and selections alike). A shape that is timed but too large to be judged as a
// whole must not take a way that no judged shape took.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "vgpu/observer.h"

namespace kernelsmith {

class PathCoverage final : public vgpu::Observer {
 public:
  uint32_t interests() const override { return vgpu::interest::kInstructions; }
  // Only these blocks of every launch run, as far as they are needed; none: all.
  void SetSample(std::vector<uint64_t> blocks) { sample_ = std::move(blocks); }

  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override;
  vgpu::BlockChoice ChooseBlocks(const vgpu::LaunchInfo&) override {
    return {.blocks = sample_, .run_others = false};
  }
  bool WantsMoreBlocks() override { return seen_ < kEnough; }
  void AfterInstruction(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;

  // A way that was taken here and not in `known`: the first of each source line.
  struct Way {
    std::string function;  // as PTX names it
    SourceLocation where;  // a place in the CUDA source, or in the PTX
    bool operator==(const Way&) const = default;
  };
  std::vector<Way> Beyond(const PathCoverage& known) const;

 private:
  struct Steps {
    std::vector<uint8_t> taken;  // at each place of the function: kRan, kTrue, kFalse
    std::map<size_t, SourceLocation> places;
  };
  // Instructions of warps: a second or two. Ways that were not taken by then are rare ones.
  static constexpr uint64_t kEnough = 2'000'000;

  std::vector<uint64_t> sample_;
  uint64_t seen_ = 0;
  std::map<std::string, Steps> functions_;
  const vgpu::Function* last_ = nullptr;
  Steps* last_steps_ = nullptr;
};

}  // namespace kernelsmith
