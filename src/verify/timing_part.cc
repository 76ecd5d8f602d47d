#include "verify/timing_part.h"

#include <algorithm>
#include <set>

#include "vgpu/block_interaction.h"

namespace kernelsmith {
namespace {

// Blocks of a launch that run. A block of a timing shape costs as much as a whole quick shape.
constexpr uint64_t kBlocks = 4;

// Blocks of one launch that run: the first, the last, and some between.
std::vector<uint64_t> SampleBlocks(const LaunchStep& launch, Rng& rng) {
  const uint64_t count = launch.grid.Count();
  std::set<uint64_t> blocks = {0, count - 1};
  while (blocks.size() < std::min<uint64_t>(kBlocks, count)) blocks.insert(rng.Below(count));
  return {blocks.begin(), blocks.end()};
}

// Whether what some of its blocks write can be judged without the others.
bool BlocksAreIndependent(const std::string& ptx, const LaunchStep& launch) {
  const Result<vgpu::BlockInteraction> blocks =
      vgpu::InteractionIn(ptx, launch.kernel, launch.cooperative || launch.cluster.Count() > 1);
  return blocks.ok() && !blocks->blocks_wait && !blocks->blocks_share_memory;
}

}  // namespace

Part ChoosePart(const Plan& plan, const std::string& ptx, uint64_t most_threads, Rng& rng) {
  Part part;
  size_t launches = 0;
  uint64_t threads = 0;
  for (const PlanStep& step : plan.steps) {
    if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
      ++launches;
      threads += launch->grid.Count() * launch->block.Count();
    }
    // A library call at this size takes as long as PyTorch does.
    if (std::holds_alternative<LibraryStep>(step.action)) part.possible = false;
  }
  if (launches != 1 || !plan.preparation.empty()) {
    part.possible &= threads <= most_threads;
    return part;
  }
  for (const PlanStep& step : plan.steps) {
    const auto* launch = std::get_if<LaunchStep>(&step.action);
    if (launch == nullptr) continue;
    if (!BlocksAreIndependent(ptx, *launch)) {
      part.possible &= threads <= most_threads;
    } else if (launch->grid.Count() > kBlocks) {
      part.blocks = SampleBlocks(*launch, rng);
    }
  }
  return part;
}

}  // namespace kernelsmith
