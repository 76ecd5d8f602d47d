// What a launch did, in numbers: the input of estimates, and what `kernelsmith profile` shows.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/fault.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith::counters {

// Classes of PTX instructions, by the unit of an SM that does them.
enum class InstructionClass : uint8_t {
  kInteger,  // arithmetic, logic, shifts, comparisons of integers
  kFp32,     // add, mul, fma, min, comparisons of float32
  kFp64,
  kFp16,     // float16 and bfloat16
  kTensor,   // mma, wmma, wgmma
  kSpecial,  // special function unit: rcp, sqrt, ex2, lg2, sin, cos, tanh
  kConversion,
  kMove,          // mov, selp, address conversions
  kGlobalMemory,  // loads, stores, atomics, asynchronous copies
  kSharedMemory,
  kLocalMemory,     // arrays that are indexed and stacks; spills are ptxas's (below)
  kConstantMemory,  // parameters and constants
  kControl,         // branches, calls, returns
  kSync,            // barriers, fences, waits
  kWarp,            // shuffles, votes, matches
  kCount,
};
std::string_view Name(InstructionClass which);
inline constexpr size_t kInstructionClasses = static_cast<size_t>(InstructionClass::kCount);

// Counts are of the whole grid. Of a sampled launch (watched_blocks < blocks) they are scaled from
// the watched blocks; of any other they are exact, except what says "model".
struct LaunchCounters {
  std::string kernel;
  vgpu::Dim3 grid;
  vgpu::Dim3 block;
  uint64_t blocks = 0;
  uint64_t watched_blocks = 0;
  bool faulted = false;  // ended early: counts are of what ran

  // ---- instructions, PTX's, once per warp; those whose guard no lane fulfils are not among them
  uint64_t warp_instructions = 0;
  uint64_t lane_instructions = 0;  // summed over lanes that execute
  uint64_t code_instructions = 0;  // lines of PTX that ran, each once: loops repeat them
  std::array<uint64_t, kInstructionClasses> by_class{};  // warp instructions
  // Machine instructions that these become, about: 64-bit integers and divisions are several,
  // moves and parameter loads none. Model.
  uint64_t issue_slots = 0;
  uint64_t branches = 0;            // conditional ones that at least one lane takes
  uint64_t divergent_branches = 0;  // branches at which lanes parted
  uint64_t barriers = 0;            // warps that came to a barrier of the block
  // How often warps wait for loads, those that can be in flight at the same time counted as one.
  // Model: from what depends on what in the PTX.
  uint64_t global_waits = 0;
  uint64_t shared_waits = 0;  // and for local memory
  // How often warps wait for a group of asynchronous copies, and the issue slots that they spent
  // between sending the group and waiting for it.
  uint64_t async_waits = 0;
  uint64_t async_overlap = 0;
  uint64_t warps = 0;

  // ---- arithmetic, in operations of lanes; a fused multiply-add is two
  uint64_t flops_fp32 = 0;
  uint64_t flops_fp64 = 0;
  uint64_t flops_fp16 = 0;
  uint64_t flops_tensor = 0;        // flops of matrix instructions of all types
  uint64_t flops_tensor_tf32 = 0;   // those with tf32 operands (half the speed of float16)
  uint64_t flops_tensor_8bit = 0;   // those with 8-bit operands (twice the speed)
  uint64_t special_operations = 0;  // operations of the special function unit

  // ---- global memory
  uint64_t global_loads = 0;  // requests: warp instructions
  uint64_t global_stores = 0;
  uint64_t global_load_sectors = 0;  // 32-byte sectors touched by a request, summed over requests
  uint64_t global_store_sectors = 0;
  uint64_t global_load_bytes = 0;  // bytes that lanes asked for
  uint64_t global_store_bytes = 0;
  uint64_t unique_bytes = 0;          // distinct sectors that the grid touches, in bytes
  uint64_t unique_read_bytes = 0;     // those first touched by a read: compulsory reads
  uint64_t unique_written_bytes = 0;  // those that are written: compulsory writes
  uint64_t l1_sectors = 0;            // loads that go through L1 (model from here on)
  uint64_t l1_hits = 0;
  uint64_t l2_sectors = 0;  // what L1 does not serve, stores, atomics
  uint64_t l2_hits = 0;
  uint64_t dram_read_bytes = 0;
  uint64_t dram_written_bytes = 0;

  // ---- atomics on global memory and reductions
  uint64_t atomics = 0;  // requests
  uint64_t atomic_lanes = 0;
  uint64_t atomic_addresses = 0;   // distinct addresses of a request, summed
  uint64_t atomic_turns = 0;       // most lanes at one address of a request, summed
  uint32_t atomic_most_lanes = 0;  // at one address of a request, the worst one
  // Lanes at the address that most of the watched blocks' atomics hit, as a share of atomic_lanes.
  double atomic_hottest_share = 0;

  // ---- shared memory: 32 banks of 4 bytes
  uint64_t shared_requests = 0;
  uint64_t shared_wavefronts = 0;        // passes
  uint64_t shared_ideal_wavefronts = 0;  // passes without bank conflicts
  uint32_t shared_worst_way = 0;         // passes of the worst request over its ideal
  uint64_t shared_bytes_moved = 0;
  uint64_t shared_atomics = 0;       // requests
  uint64_t shared_atomic_turns = 0;  // as atomic_turns

  uint64_t local_requests = 0;
  uint64_t local_sectors = 0;

  // ---- occupancy
  uint32_t shared_bytes = 0;          // shared memory of a block, static and dynamic
  uint32_t registers = 0;             // registers of a thread
  bool registers_from_ptxas = false;  // else estimated from the PTX
  uint32_t spill_store_bytes = 0;  // spills of a thread, as ptxas says (instructions in the code)
  uint32_t spill_load_bytes = 0;
  uint32_t resident_blocks = 0;  // blocks that an SM holds
  double occupancy = 0;          // resident warps over what the SM can hold
  std::string occupancy_limit;   // registers, shared memory, threads, blocks

  // ---- derived
  double ActiveLanes() const;  // mean lanes an instruction, of 32
  double SectorsPerLoad() const;
  double IdealSectorsPerLoad() const;  // if all bytes of a sector were asked for
  double SectorsPerStore() const;
  double BankConflictFactor() const;  // wavefronts over ideal ones
  uint64_t Flops() const;             // flops of all kinds
  uint64_t DramBytes() const { return dram_read_bytes + dram_written_bytes; }
  double ArithmeticIntensity() const;  // flops per byte of DRAM traffic
  double Reuse() const;                // bytes that lanes asked for over unique bytes
  bool sampled() const { return watched_blocks < blocks; }
};

nlohmann::json ToJson(const LaunchCounters& counters);
// For counters that come from another process; an error says what is missing.
Result<LaunchCounters> FromJson(const nlohmann::json& json);

// What ptxas says about one kernel.
struct PtxasKernel {
  uint32_t registers = 0;
  uint32_t spill_store_bytes = 0;
  uint32_t spill_load_bytes = 0;
  uint32_t stack_bytes = 0;
};

// Fills the occupancy part for a GPU; registers and spills from `known` unless it is null (then
// `registers` must hold the estimate).
void SetOccupancy(LaunchCounters& counters, const GpuModel& gpu, const PtxasKernel* known);

// A table for people.
std::string ToText(const LaunchCounters& counters);

}  // namespace kernelsmith::counters
