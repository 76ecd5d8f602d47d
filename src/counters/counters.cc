#include "counters/counters.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/demangle.h"

namespace kernelsmith::vgpu {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Dim3, x, y, z)
}  // namespace kernelsmith::vgpu

namespace kernelsmith::counters {

namespace {

constexpr std::array<std::string_view, kInstructionClasses> kNames = {
    "integer",    "fp32", "fp64",          "fp16",          "tensor",       "special",
    "conversion", "move", "global_memory", "shared_memory", "local_memory", "constant_memory",
    "control",    "sync", "warp"};

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }
double Ratio(uint64_t a, uint64_t b) {
  return Ratio(static_cast<double>(a), static_cast<double>(b));
}

}  // namespace

// Every plain field once, for both directions of JSON.
#define KS_COUNTER_FIELDS                                                                          \
  kernel, grid, block, blocks, watched_blocks, faulted, warp_instructions, lane_instructions,      \
      code_instructions, issue_slots, branches, divergent_branches, barriers, global_waits,        \
      shared_waits, async_waits, async_overlap, warps, flops_fp32, flops_fp64, flops_fp16,         \
      flops_tensor, flops_tensor_tf32, flops_tensor_8bit, special_operations, global_loads,        \
      global_stores, global_load_sectors, global_store_sectors, global_load_bytes,                 \
      global_store_bytes, unique_bytes, unique_read_bytes, unique_written_bytes, l1_sectors,       \
      l1_hits, l2_sectors, l2_hits, dram_read_bytes, dram_written_bytes, atomics, atomic_lanes,    \
      atomic_addresses, atomic_turns, atomic_most_lanes, atomic_hottest_share, shared_requests,    \
      shared_wavefronts, shared_ideal_wavefronts, shared_worst_way, shared_bytes_moved,            \
      shared_atomics, shared_atomic_turns, local_requests, local_sectors, shared_bytes, registers, \
      registers_from_ptxas, spill_store_bytes, spill_load_bytes, resident_blocks, occupancy,       \
      occupancy_limit
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaunchCounters, KS_COUNTER_FIELDS)

std::string_view Name(InstructionClass which) { return kNames[static_cast<size_t>(which)]; }

double LaunchCounters::ActiveLanes() const { return Ratio(lane_instructions, warp_instructions); }
double LaunchCounters::SectorsPerLoad() const { return Ratio(global_load_sectors, global_loads); }
double LaunchCounters::IdealSectorsPerLoad() const {
  return Ratio(static_cast<double>(global_load_bytes) / 32, static_cast<double>(global_loads));
}
double LaunchCounters::SectorsPerStore() const {
  return Ratio(global_store_sectors, global_stores);
}
double LaunchCounters::BankConflictFactor() const {
  return shared_ideal_wavefronts == 0 ? 1 : Ratio(shared_wavefronts, shared_ideal_wavefronts);
}
uint64_t LaunchCounters::Flops() const {
  return flops_fp32 + flops_fp64 + flops_fp16 + flops_tensor + special_operations;
}
double LaunchCounters::ArithmeticIntensity() const { return Ratio(Flops(), DramBytes()); }
double LaunchCounters::Reuse() const {
  return Ratio(global_load_bytes + global_store_bytes, unique_bytes);
}

nlohmann::json ToJson(const LaunchCounters& counters) {
  nlohmann::json json = counters;
  json["kernel_name"] = KernelName(counters.kernel);
  nlohmann::json classes = nlohmann::json::object();
  for (size_t i = 0; i < kInstructionClasses; ++i) {
    classes[std::string(kNames[i])] = counters.by_class[i];
  }
  json["instructions_by_class"] = std::move(classes);
  json["derived"] = {{"active_lanes", counters.ActiveLanes()},
                     {"sectors_per_load", counters.SectorsPerLoad()},
                     {"sectors_per_store", counters.SectorsPerStore()},
                     {"bank_conflict_factor", counters.BankConflictFactor()},
                     {"flops", counters.Flops()},
                     {"dram_bytes", counters.DramBytes()},
                     {"arithmetic_intensity", counters.ArithmeticIntensity()},
                     {"reuse", counters.Reuse()},
                     {"sampled", counters.sampled()}};
  return json;
}

Result<LaunchCounters> FromJson(const nlohmann::json& json) {
  try {
    auto counters = json.get<LaunchCounters>();
    const nlohmann::json& classes = json.at("instructions_by_class");
    for (size_t i = 0; i < kInstructionClasses; ++i) {
      counters.by_class[i] = classes.at(std::string(kNames[i])).get<uint64_t>();
    }
    return counters;
  } catch (const nlohmann::json::exception& error) {
    return InvalidInput(fmt::format("no counters of a launch: {}", error.what()));
  }
}

void SetOccupancy(LaunchCounters& counters, const GpuModel& gpu, const PtxasKernel* known) {
  if (known != nullptr) {
    counters.registers = known->registers;
    counters.registers_from_ptxas = true;
    counters.spill_store_bytes = known->spill_store_bytes;
    counters.spill_load_bytes = known->spill_load_bytes;
  }
  const auto threads = static_cast<int>(counters.block.Count());
  const BlockNeeds all{.threads = threads,
                       .registers_per_thread = static_cast<int>(counters.registers),
                       .shared_bytes = counters.shared_bytes};
  const auto blocks = [&](const BlockNeeds& needs) { return MaxResidentBlocksPerSm(gpu, needs); };
  counters.resident_blocks = static_cast<uint32_t>(blocks(all));
  const int warps = (threads + GpuModel::kWarpSize - 1) / GpuModel::kWarpSize;
  counters.occupancy = static_cast<double>(counters.resident_blocks) * warps /
                       static_cast<double>(gpu.max_warps_per_sm());
  // What alone gives the same number of blocks, in the order in which one can change it.
  const int by_registers =
      blocks({.threads = threads, .registers_per_thread = all.registers_per_thread});
  const int by_shared = blocks({.threads = threads, .shared_bytes = all.shared_bytes});
  const auto resident = static_cast<int>(counters.resident_blocks);
  if (resident == 0) {
    counters.occupancy_limit = "its needs: no block fits on an SM";
  } else if (counters.occupancy >= 1) {
    counters.occupancy_limit = "none";
  } else if (by_registers == resident && by_registers < blocks({.threads = threads})) {
    counters.occupancy_limit = "registers";
  } else if (by_shared == resident && by_shared < blocks({.threads = threads})) {
    counters.occupancy_limit = "shared memory";
  } else if (resident == gpu.max_blocks_per_sm) {
    counters.occupancy_limit = "blocks";
  } else {
    counters.occupancy_limit = "threads";
  }
}

}  // namespace kernelsmith::counters
