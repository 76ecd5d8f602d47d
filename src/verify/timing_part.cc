#include "verify/timing_part.h"

#include <algorithm>
#include <set>

#include "vgpu/block_interaction.h"

namespace kernelsmith {
namespace {

// Blocks of a launch that run. A block of a timing shape costs as much as a whole quick shape.
constexpr uint64_t kBlocks = 4;

}  // namespace

std::vector<uint64_t> SampleBlocks(uint64_t count, Rng& rng) {
  std::set<uint64_t> blocks = {0, count - 1};
  while (blocks.size() < std::min<uint64_t>(kBlocks, count)) blocks.insert(rng.Below(count));
  return {blocks.begin(), blocks.end()};
}

bool BlocksAreIndependent(const std::string& ptx, const LaunchStep& launch) {
  const Result<vgpu::BlockInteraction> blocks =
      vgpu::InteractionIn(ptx, launch.kernel, launch.cooperative || launch.cluster.Count() > 1);
  return blocks.ok() && !blocks->blocks_wait && !blocks->blocks_share_memory;
}

Part ChoosePart(const Plan& plan, const std::string& ptx, bool all_can_run, Rng& rng) {
  if (all_can_run) return {};
  const LaunchStep* only = nullptr;
  size_t launches = 0;
  bool libraries = false;
  for (const PlanStep& step : plan.steps) {
    if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
      ++launches;
      only = launch;
    }
    libraries |= std::holds_alternative<LibraryStep>(step.action);
  }
  if (launches != 1 || libraries || !plan.preparation.empty() || only->grid.Count() <= kBlocks ||
      !BlocksAreIndependent(ptx, *only)) {
    return {.blocks = {}, .possible = false};
  }
  return {.blocks = SampleBlocks(only->grid.Count(), rng)};
}

}  // namespace kernelsmith
