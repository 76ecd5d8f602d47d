// Clusters: distributed shared memory and the cluster's barrier.

#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

Block* BlockOfSharedAddress(const Block& own, uint64_t& address) {
  const uint64_t window = address / kSharedWindowSize;
  address %= kSharedWindowSize;
  if (window == 0) return const_cast<Block*>(&own);
  const uint64_t rank = window - 1;
  if (own.cluster == nullptr) return rank == 0 ? const_cast<Block*>(&own) : nullptr;
  return rank < own.cluster->blocks.size() ? own.cluster->blocks[rank] : nullptr;
}

uint32_t ClusterSize(const Block& block) {
  return block.cluster == nullptr ? 1 : static_cast<uint32_t>(block.cluster->blocks.size());
}

uint64_t ClusterOffset(const Block& own, uint32_t rank) {
  // The own block's memory keeps its plain address, so that checkers know it.
  return rank == own.rank ? 0 : (uint64_t{rank} + 1) * kSharedWindowSize;
}

SharedPlace WarpPicture::SharedAt(uint64_t address) {
  uint64_t offset = address - warp_.launch->shared_window;
  if (offset >= kSharedWindows * kSharedWindowSize) return {};
  Block* block = BlockOfSharedAddress(*warp_.block, offset);
  if (block == nullptr || offset >= block->shared_bytes) return {};
  return {.exists = true,
          .block_number = block->number,
          .offset = static_cast<uint32_t>(offset),
          .bytes = block->shared_bytes,
          .defined = block->defined_shared.empty() ? nullptr : block->defined_shared.data()};
}

}  // namespace kernelsmith::vgpu
