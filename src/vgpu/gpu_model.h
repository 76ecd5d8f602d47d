// The GPUs that the virtual GPU can pose as and for which times are estimated: one row each, in
// gpu_model.cc. A new GPU is a new row there; options, their help, limits and rates come from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/result.h"

namespace kernelsmith {

// How fast a GPU is beyond what a program can see: what estimates divide by.
struct GpuRates {
  // Dense, with float32 accumulation, operations a second (a multiply-add is two); 0: no such
  // units.
  double tensor_fp16 = 0;  // and bfloat16
  double tensor_tf32 = 0;
  double tensor_8bit = 0;
  double l2_bandwidth = 0;  // bytes a second
  double l2_latency = 0;    // seconds from a load to its value
  double dram_latency = 0;
  int int32_lanes_per_sm = 64;

  // The same on all of them (per SM and clock).
  static constexpr double kIssuePerClock = 4;  // warp instructions: one a partition
  static constexpr double kSpecialLanes = 16;  // special function unit
  static constexpr double kL1SectorsPerClock = 4;
  static constexpr double kSharedPassesPerClock = 1;
  static constexpr double kSharedLatencyClocks = 30;
  static constexpr double kL1LatencyClocks = 35;
};

// Limits and properties decide what a program can see or run into (device properties, launch
// checks, occupancy). They decide no arithmetic.
struct GpuModel {
  std::string_view key;   // what --gpu takes, e.g. "h100"
  std::string_view name;  // what cudaDeviceProp::name says
  int major = 0;          // compute capability
  int minor = 0;

  // Product facts.
  int sm_count = 0;
  int64_t global_memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t persisting_l2_bytes = 0;  // the most that L2 persistence may set aside
  int sm_clock_khz = 0;             // highest boost clock
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  double memory_bandwidth = 0;  // bytes a second, as the data sheet says
  bool ecc = false;
  int async_engines = 0;

  // Facts of the compute capability.
  int fp32_lanes_per_sm = 0;
  int fp64_lanes_per_sm = 0;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int shared_per_sm = 0;
  int shared_per_block_optin = 0;     // with cudaFuncAttributeMaxDynamicSharedMemorySize
  int reserved_shared_per_block = 0;  // taken by the driver out of shared_per_sm for every block
  int max_cluster_blocks = 0;         // portable cluster size; 0: no clusters
  int64_t unified_l1_bytes = 0;       // L1 and shared memory of an SM together

  GpuRates rates;

  // The same on every GPU since compute capability 7.0 (CUDA C++ Programming Guide, "Technical
  // specifications per compute capability").
  static constexpr int kWarpSize = 32;
  static constexpr int kMaxThreadsPerBlock = 1024;
  static constexpr int kMaxBlockDim[3] = {1024, 1024, 64};
  static constexpr int64_t kMaxGridDim[3] = {2147483647, 65535, 65535};
  static constexpr int kSharedPerBlock = 48 * 1024;
  static constexpr int kRegistersPerSm = 65536;
  static constexpr int kRegistersPerBlock = 65536;
  static constexpr int kMaxRegistersPerThread = 255;
  static constexpr int kConstantBytes = 65536;
  // Registers are given to a warp in units of 256, warps in groups of 4 (CUDA occupancy
  // calculator: register allocation unit size, warp allocation granularity).
  static constexpr int kRegisterUnit = 256;
  static constexpr int kWarpGranularity = 4;
  // Shared memory is given in units of 128 bytes from 8.0 on, 256 before.
  int shared_unit() const { return major >= 8 ? 128 : 256; }
  // Kernel parameters: 4 KB before 7.0, 32764 bytes with PTX 8.1 and up on 7.0 and up.
  static constexpr int kMaxParameterBytes = 32764;

  int compute_capability() const { return major * 10 + minor; }
  int max_warps_per_sm() const { return max_threads_per_sm / kWarpSize; }
  double clock_hz() const { return 1000.0 * sm_clock_khz; }
  // Peak of ordinary float32 arithmetic, operations a second.
  double fp32_peak() const { return 2.0 * fp32_lanes_per_sm * sm_count * clock_hz(); }
};

// What one block needs, for the occupancy rules.
struct BlockNeeds {
  int threads = 0;
  int registers_per_thread = 0;  // 0: not known, does not limit
  int64_t shared_bytes = 0;      // static and dynamic
};

// The registers that a block takes of an SM: whole warps get them by units, and each of an SM's
// four partitions gives to as many warps.
int64_t RegistersOfBlock(int64_t threads, int64_t registers_per_thread);

// How many such blocks one SM holds at a time; 0 if a single one does not fit. These are the rules
// of NVIDIA's occupancy calculator.
int MaxResidentBlocksPerSm(const GpuModel& gpu, const BlockNeeds& needs);

// Every model, the default (H100 SXM) first.
std::span<const GpuModel> AllGpuModels();
const GpuModel& DefaultGpuModel();

// "h100, a100, ...": all keys, the default first, for help and messages.
std::string GpuModelKeys();

// By key or name, ignoring case, '-', '_' and spaces. An unknown name is an error that lists the
// known ones.
Result<const GpuModel*> FindGpuModel(std::string_view name);

}  // namespace kernelsmith
