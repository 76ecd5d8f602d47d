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

// A launch alone may be run in part: what its blocks write can be judged by itself. One that reads
// what others made needs all of them, so such plans run as a whole if they are small enough: if
// they have no more than `most_threads`.
Part ChoosePart(const Plan& plan, const std::string& ptx, uint64_t most_threads, Rng& rng);

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
