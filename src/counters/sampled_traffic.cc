// What the blocks that nobody watched add: counts by proportion, memory by footprints.

#include <algorithm>
#include <cmath>

#include "counters/launch_count.h"

namespace kernelsmith::counters {

namespace {

// One allocation of a sampled launch, in sectors.
struct Region {
  double distinct = 0;    // sectors that the grid touches
  double read_first = 0;  // those that are read first
  double written = 0;
  double wave = 0;  // sectors that blocks which run at the same time touch
};

}  // namespace

void CounterObserver::Launch::Scale(double factor) {
  const auto scale = [&](uint64_t& count) {
    count = static_cast<uint64_t>(std::llround(static_cast<double>(count) * factor));
  };
  for (uint64_t& count : counters.by_class) scale(count);
  for (uint64_t* count : {&counters.warp_instructions,
                          &counters.lane_instructions,
                          &counters.issue_slots,
                          &counters.branches,
                          &counters.divergent_branches,
                          &counters.barriers,
                          &counters.global_waits,
                          &counters.shared_waits,
                          &counters.async_waits,
                          &counters.async_overlap,
                          &counters.flops_fp32,
                          &counters.flops_fp64,
                          &counters.flops_fp16,
                          &counters.flops_tensor,
                          &counters.flops_tensor_tf32,
                          &counters.flops_tensor_8bit,
                          &counters.special_operations,
                          &counters.global_loads,
                          &counters.global_stores,
                          &counters.global_load_sectors,
                          &counters.global_store_sectors,
                          &counters.global_load_bytes,
                          &counters.global_store_bytes,
                          &counters.l1_sectors,
                          &counters.l1_hits,
                          &counters.l2_sectors,
                          &counters.atomics,
                          &counters.atomic_lanes,
                          &counters.atomic_addresses,
                          &counters.atomic_turns,
                          &counters.shared_requests,
                          &counters.shared_wavefronts,
                          &counters.shared_ideal_wavefronts,
                          &counters.shared_bytes_moved,
                          &counters.shared_atomics,
                          &counters.shared_atomic_turns,
                          &counters.local_requests,
                          &counters.local_sectors}) {
    scale(*count);
  }
}

std::vector<uint64_t> CounterObserver::Launch::RegionStarts(std::vector<uint64_t>& limits) const {
  std::vector<uint64_t> starts;
  if (options_.memory == nullptr) return starts;
  std::vector<vgpu::Allocation> live = options_.memory->LiveAllocations();
  std::sort(live.begin(), live.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  for (const vgpu::Allocation& each : live) {
    if (each.size == 0) continue;
    starts.push_back(each.address / kSectorBytes);
    limits.push_back((each.size + kSectorBytes - 1) / kSectorBytes);
  }
  return starts;
}

void CounterObserver::Launch::ModelTraffic() {
  std::vector<uint64_t> limits;
  const std::vector<uint64_t> starts = RegionStarts(limits);
  const std::vector<Footprint> far = scattered_.ByRegion(starts);
  const std::vector<Footprint> near = run_.ByRegion(starts);
  const GpuModel& gpu = *options_.gpu;
  const uint64_t at_once = std::clamp<uint64_t>(
      uint64_t{counters.resident_blocks} * static_cast<uint64_t>(gpu.sm_count), 1, counters.blocks);
  std::vector<Region> regions;
  for (size_t i = 0; i < far.size(); ++i) {
    // A launch whose watching ended early has only blocks in their order.
    const Footprint& seen = far[i].sectors > 0 ? far[i] : near[i];
    if (seen.sectors == 0) continue;
    const uint64_t watched = far[i].sectors > 0 ? scattered_.blocks() : run_.blocks();
    const double limit =
        i > 0 && i <= limits.size() ? static_cast<double>(limits[i - 1]) : HUGE_VAL;
    Region region;
    region.distinct = std::min(limit, std::max(ExtrapolateDistinct(seen, watched, counters.blocks),
                                               static_cast<double>(near[i].sectors)));
    const double share = region.distinct / static_cast<double>(seen.sectors);
    region.read_first = share * static_cast<double>(seen.read_first);
    region.written = share * static_cast<double>(seen.written);
    region.wave =
        near[i].sectors > 0
            ? std::min(region.distinct, ExtrapolateDistinct(near[i], run_.blocks(), at_once))
            : region.distinct * static_cast<double>(at_once) / static_cast<double>(counters.blocks);
    regions.push_back(region);
  }
  // Blocks that run together share what they read through L2. What the next ones want again is
  // still there if it fits: the regions that are used most often stay.
  const double waves = static_cast<double>(counters.blocks) / static_cast<double>(at_once);
  std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) {
    return a.wave * b.distinct > b.wave * a.distinct;
  });
  double room = static_cast<double>(gpu.l2_bytes) / kSectorBytes;
  double distinct = 0;
  double reads = 0;
  double read_first = 0;
  double written = 0;
  for (const Region& region : regions) {
    const double again = std::max(0.0, waves * region.wave - region.distinct);
    const double kept = std::min(1.0, room / region.distinct);
    room = std::max(0.0, room - region.distinct);
    const double share = region.distinct > 0 ? region.read_first / region.distinct : 0;
    distinct += region.distinct;
    read_first += region.read_first;
    reads += region.read_first + again * (1 - kept) * share;
    written += region.written;
  }
  const auto bytes = [](double sectors) {
    return static_cast<uint64_t>(std::llround(sectors)) * kSectorBytes;
  };
  counters.unique_bytes = bytes(distinct);
  counters.unique_read_bytes = bytes(read_first);
  counters.unique_written_bytes = bytes(written);
  // No more than L1 asks for.
  const auto asked = static_cast<double>(counters.l2_sectors);
  counters.dram_read_bytes = bytes(std::min(reads, asked));
  counters.dram_written_bytes = bytes(std::min(written, asked));
  counters.l2_hits = static_cast<uint64_t>(
      std::max(0.0, asked - (distinct - read_first) - std::min(reads, asked)));
}

}  // namespace kernelsmith::counters
