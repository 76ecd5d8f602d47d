// Which part of a plan runs at a shape that candidates are timed at. Inside of src/verify only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "support/rng.h"
#include "vgpu/observer.h"

namespace kernelsmith {

// Work of a plan at this size.
struct Part {
  std::vector<uint64_t> blocks;  // those of the only launch that are to run; none: all
  bool possible = true;  // a launch with other work before it needs all of that work's results

  bool whole() const { return blocks.empty(); }
};

// What never gets written shows only if all blocks have run, so they do where that takes seconds
// (`all_can_run`). Beyond it a launch alone is run in part: what its blocks write can be judged by
// itself, unless they wait for each other or share memory. Anything else needs all of its work.
Part ChoosePart(const Plan& plan, const std::string& ptx, bool all_can_run, Rng& rng);

// Some blocks of a launch: the first, the last, and some between.
std::vector<uint64_t> SampleBlocks(uint64_t count, Rng& rng);

// Whether what some of its blocks write can be judged without the others.
bool BlocksAreIndependent(const std::string& ptx, const LaunchStep& launch);

// Runs a part of the blocks and hears of nothing.
class SampleObserver final : public vgpu::Observer {
 public:
  explicit SampleObserver(const std::vector<uint64_t>& blocks) : blocks_(blocks) {}
  uint32_t interests() const override { return 0; }
  vgpu::BlockChoice ChooseBlocks(const vgpu::LaunchInfo&) override {
    return {.blocks = blocks_, .run_others = false};
  }

 private:
  const std::vector<uint64_t>& blocks_;
};

}  // namespace kernelsmith
