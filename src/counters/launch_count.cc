#include "counters/launch_count.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "support/rng.h"

namespace kernelsmith::counters {

using vgpu::AccessKind;
using vgpu::Instruction;

namespace {

constexpr uint64_t kFewestBlocks = 4;  // watched, whatever they cost
// Registers that ptxas needs beside those that hold values of the PTX: addresses, loop state.
constexpr uint32_t kExtraRegisters = 8;
constexpr size_t kMostHotAddresses = 1 << 16;
// L1 of at least this much is left beside shared memory.
constexpr int64_t kLeastL1 = 16 << 10;

uint64_t L1Share(const GpuModel& gpu, const LaunchCounters& counters) {
  const int64_t resident = std::max<int64_t>(1, counters.resident_blocks);
  const int64_t left = gpu.unified_l1_bytes - resident * counters.shared_bytes;
  return static_cast<uint64_t>(std::max(left, kLeastL1) / resident);
}

LaunchCounters Begin(const vgpu::LaunchInfo& info, const GpuModel& gpu) {
  LaunchCounters counters;
  counters.kernel = info.kernel;
  counters.grid = info.grid;
  counters.block = info.block;
  counters.blocks = info.grid.Count();
  counters.warps = counters.blocks * ((info.block.Count() + 31) / 32);
  counters.shared_bytes = info.shared_bytes;
  const uint32_t words = info.code->entry->register_words + kExtraRegisters;
  counters.registers =
      std::clamp<uint32_t>((words + 7) / 8 * 8, 16, GpuModel::kMaxRegistersPerThread);
  SetOccupancy(counters, gpu, nullptr);
  return counters;
}

}  // namespace

CounterObserver::Launch::Launch(const vgpu::LaunchInfo& info, const CounterOptions& options,
                                SectoredCache& l2)
    : options_(options),
      l2_(l2),
      l1_(L1Share(*options.gpu, Begin(info, *options.gpu)), 8),
      info_(info),
      counters(Begin(info, *options.gpu)) {
  for (const auto& function : info.code->functions) {
    Code code{.begin = function->code.data(), .end = function->code.data() + function->code.size()};
    code.records.reserve(function->code.size());
    for (const InstructionFacts& facts : FactsOf(*function)) {
      code.records.push_back({.facts = facts});
    }
    code_.push_back(std::move(code));
    async_.Look(*function);
  }
  last_code_ = &code_.front();
  footprint_ = &scattered_;
  written_back_before_ = l2_.written_back();
}

vgpu::BlockChoice CounterObserver::Launch::Choose() {
  const uint64_t all = counters.blocks;
  const uint64_t wanted = options_.max_blocks == 0 ? all : std::min(all, options_.max_blocks);
  vgpu::BlockChoice choice{.run_others = options_.run_others};
  if (wanted == all) {
    // In their order. The list is there so that the budget can end the watching.
    if (options_.max_instructions == 0) return {};
    for (uint64_t i = 0; i < all; ++i) choice.blocks.push_back(i);
    return choice;
  }
  Rng rng = Rng(options_.seed).Fork(all);
  const uint64_t near = wanted / 2;
  const uint64_t first = rng.Below(all - near + 1);
  for (uint64_t i = 0; i < near; ++i) neighbours_.push_back(first + i);
  // One of each of as many parts of the rest, in random order.
  const uint64_t far = wanted - near;
  std::vector<uint64_t> scattered;
  for (uint64_t i = 0; i < far; ++i) {
    const uint64_t rest = all - near;
    const uint64_t low = i * rest / far;
    const uint64_t high = (i + 1) * rest / far;
    const uint64_t at = low + rng.Below(high - low);
    scattered.push_back(at < first ? at : at + near);
  }
  for (size_t i = scattered.size(); i > 1; --i) {
    std::swap(scattered[i - 1], scattered[rng.Below(i)]);
  }
  for (uint64_t i = 0; i < far; ++i) {
    choice.blocks.push_back(scattered[i]);
    if (i < near) choice.blocks.push_back(neighbours_[i]);
  }
  return choice;
}

bool CounterObserver::Launch::WantsMore() const {
  return options_.max_instructions == 0 || instructions_ < options_.max_instructions ||
         counters.watched_blocks < kFewestBlocks;
}

void CounterObserver::Launch::BeginBlock(uint64_t number) {
  ++counters.watched_blocks;
  const bool near = std::binary_search(neighbours_.begin(), neighbours_.end(), number);
  footprint_ = near ? &run_ : &scattered_;
  footprint_->BeginBlock();
  async_.BeginBlock();
  l1_.Clear();
}

CounterObserver::Launch::Record& CounterObserver::Launch::RecordOf(const Instruction& in) {
  if (&in < last_code_->begin || &in >= last_code_->end) {
    for (Code& code : code_) {
      if (&in >= code.begin && &in < code.end) last_code_ = &code;
    }
  }
  return last_code_->records[static_cast<size_t>(&in - last_code_->begin)];
}

void CounterObserver::Launch::Execute(const vgpu::WarpView& warp, const Instruction& in,
                                      uint32_t mask) {
  Record& record = RecordOf(in);
  ++record.warps;
  ++instructions_;
  if (async_.used()) async_.Execute(warp.warp_in_block(), in, record.facts.issue);
  record.lanes += static_cast<uint64_t>(std::popcount(mask));
  if (record.facts.conditional_branch) record.divergent += warp.active_lanes() != mask;
}

CounterObserver::Launch::Place CounterObserver::Launch::PlaceOf(uint64_t address) const {
  if (address - info_.shared_window < vgpu::kSharedWindows * vgpu::kSharedWindowSize) {
    return Place::kShared;
  }
  return address - info_.local_window < vgpu::kLocalWindowSize ? Place::kLocal : Place::kGlobal;
}

void CounterObserver::Launch::Access(const vgpu::MemoryAccess& access) {
  if (access.mask == 0) return;
  const InstructionFacts& facts = RecordOf(*access.instruction).facts;
  if (facts.no_traffic) return;
  lanes_.clear();
  for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    lanes_.push_back({.address = access.address[lane], .bytes = access.bytes, .lane = lane});
  }
  const Place place = PlaceOf(lanes_.front().address);
  const bool atomic = access.kind == AccessKind::kAtomic || access.kind == AccessKind::kReduction;
  const bool write = access.kind != AccessKind::kLoad && access.kind != AccessKind::kPrefetch;
  if (facts.gathered) {
    if (atomic || place == Place::kLocal) return;  // the mbarrier of a bulk copy
    auto& parts = gathered_.parts[place == Place::kShared][write];
    parts.insert(parts.end(), lanes_.begin(), lanes_.end());
    gathered_.any = true;
    return;
  }
  if (facts.generic && place != Place::kGlobal) {
    // Counted as global memory by its text.
    --counters.by_class[static_cast<size_t>(InstructionClass::kGlobalMemory)];
    ++counters
          .by_class[static_cast<size_t>(place == Place::kShared ? InstructionClass::kSharedMemory
                                                                : InstructionClass::kLocalMemory)];
  }
  switch (place) {
    case Place::kGlobal:
      Global(lanes_, write, atomic, facts.through_l1);
      break;
    case Place::kShared:
      if (atomic) Atomic(lanes_, /*shared=*/true);
      Shared(lanes_, WavefrontsOf(lanes_, !write));
      break;
    case Place::kLocal:
      Local(lanes_);
      break;
  }
}

void CounterObserver::Launch::EndInstruction() {
  if (!gathered_.any) return;
  gathered_.any = false;
  for (int write = 0; write < 2; ++write) {
    auto& global = gathered_.parts[0][write];
    if (!global.empty()) Global(global, write != 0, false, false);
    auto& shared = gathered_.parts[1][write];
    if (!shared.empty()) {
      // Copies of a warp are lanes as any; matrices and bulk copies the hardware arranges itself.
      const bool plain = shared.size() <= vgpu::kWarpSize && shared.front().bytes >= 4;
      Shared(shared, plain ? WavefrontsOf(shared, write == 0) : WavefrontsOfAll(shared));
    }
    global.clear();
    shared.clear();
  }
}

void CounterObserver::Launch::Global(std::span<const LaneAccess> lanes, bool write, bool atomic,
                                     bool through_l1) {
  SectorsOf(lanes, sectors_);
  uint64_t bytes = 0;
  for (const LaneAccess& lane : lanes) bytes += lane.bytes;
  if (atomic) Atomic(lanes, /*shared=*/false);
  if (write) {
    ++counters.global_stores;
    counters.global_store_sectors += sectors_.size();
    counters.global_store_bytes += bytes;
  } else {
    ++counters.global_loads;
    counters.global_load_sectors += sectors_.size();
    counters.global_load_bytes += bytes;
  }
  for (const uint64_t sector : sectors_) {
    if (atomic) footprint_->Touch(sector, false);
    footprint_->Touch(sector, write);
    if (through_l1) {
      ++counters.l1_sectors;
      if (l1_.Access(sector, false)) {
        ++counters.l1_hits;
        continue;
      }
    }
    ++counters.l2_sectors;
    if (l2_.Access(sector, write)) {
      ++counters.l2_hits;
    } else if (!write || atomic) {
      ++l2_read_misses_;
    }
  }
}

void CounterObserver::Launch::Shared(std::span<const LaneAccess> lanes, const Wavefronts& passes) {
  ++counters.shared_requests;
  counters.shared_wavefronts += passes.needed;
  counters.shared_ideal_wavefronts += passes.ideal;
  counters.shared_worst_way =
      std::max(counters.shared_worst_way, (passes.needed + passes.ideal - 1) / passes.ideal);
  for (const LaneAccess& lane : lanes) counters.shared_bytes_moved += lane.bytes;
}

void CounterObserver::Launch::Local(std::span<const LaneAccess> lanes) {
  // Words of local memory lie interleaved: the same word of 32 lanes is one line of 128 bytes.
  ++counters.local_requests;
  SectorsOf({}, sectors_);
  for (const LaneAccess& lane : lanes) {
    for (uint64_t word = lane.address / 4; word <= (lane.address + lane.bytes - 1) / 4; ++word) {
      sectors_.push_back(word * 4 + lane.lane / 8);
    }
  }
  std::sort(sectors_.begin(), sectors_.end());
  counters.local_sectors +=
      static_cast<uint64_t>(std::unique(sectors_.begin(), sectors_.end()) - sectors_.begin());
}

void CounterObserver::Launch::Atomic(std::span<const LaneAccess> lanes, bool shared) {
  const Contention contention = ContentionOf(lanes);
  if (shared) {
    ++counters.shared_atomics;
    counters.shared_atomic_turns += contention.most;
    return;
  }
  ++counters.atomics;
  counters.atomic_lanes += lanes.size();
  counters.atomic_addresses += contention.addresses;
  counters.atomic_turns += contention.most;
  counters.atomic_most_lanes = std::max(counters.atomic_most_lanes, contention.most);
  for (const LaneAccess& lane : lanes) {
    if (hot_.size() >= kMostHotAddresses && !hot_.contains(lane.address)) continue;
    ++hot_[lane.address];
  }
}

void CounterObserver::Launch::SumRecords() {
  double global_waits = 0;
  double shared_waits = 0;
  for (const Code& code : code_) {
    for (const Record& record : code.records) {
      const InstructionFacts& facts = record.facts;
      counters.warp_instructions += record.warps;
      if (record.warps > 0) ++counters.code_instructions;
      counters.lane_instructions += record.lanes;
      counters.by_class[static_cast<size_t>(facts.which)] += record.warps;
      counters.issue_slots += record.warps * facts.issue;
      counters.flops_fp32 += record.lanes * facts.flops_fp32;
      counters.flops_fp64 += record.lanes * facts.flops_fp64;
      counters.flops_fp16 += record.lanes * facts.flops_fp16;
      counters.special_operations += record.lanes * facts.special;
      counters.flops_tensor += record.warps * facts.flops_tensor;
      if (facts.tf32) counters.flops_tensor_tf32 += record.warps * facts.flops_tensor;
      if (facts.eight_bit) counters.flops_tensor_8bit += record.warps * facts.flops_tensor;
      if (facts.conditional_branch) {
        counters.branches += record.warps;
        counters.divergent_branches += record.divergent;
      }
      const bool near = facts.which == InstructionClass::kSharedMemory ||
                        facts.which == InstructionClass::kLocalMemory;
      (near ? shared_waits : global_waits) += facts.wait * static_cast<double>(record.warps);
    }
  }
  counters.global_waits = static_cast<uint64_t>(std::llround(global_waits));
  counters.shared_waits = static_cast<uint64_t>(std::llround(shared_waits));
  counters.async_waits = async_.waits();
  counters.async_overlap = async_.overlap();
}

LaunchCounters CounterObserver::Launch::Finish(const vgpu::Fault* fault) {
  SumRecords();
  counters.faulted = fault != nullptr;
  uint64_t hottest = 0;
  for (const auto& [address, lanes] : hot_) hottest = std::max(hottest, lanes);
  if (counters.atomic_lanes > 0) {
    counters.atomic_hottest_share =
        static_cast<double>(hottest) / static_cast<double>(counters.atomic_lanes);
  }
  if (counters.sampled() && !counters.faulted && counters.watched_blocks > 0) {
    const double factor =
        static_cast<double>(counters.blocks) / static_cast<double>(counters.watched_blocks);
    Scale(factor);
    ModelTraffic();
    l2_.Clear();  // what the others left in it is not known
    return counters;
  }
  const std::vector<Footprint> all = scattered_.ByRegion({});
  counters.unique_bytes = all.front().sectors * kSectorBytes;
  counters.unique_read_bytes = all.front().read_first * kSectorBytes;
  counters.unique_written_bytes = all.front().written * kSectorBytes;
  counters.dram_read_bytes = l2_read_misses_ * kSectorBytes;
  // What is still in L2 goes to memory some time: it is this launch's traffic.
  counters.dram_written_bytes =
      (l2_.written_back() - written_back_before_ + l2_.CleanAll()) * kSectorBytes;
  return counters;
}

}  // namespace kernelsmith::counters
