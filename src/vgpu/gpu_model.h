// The GPUs that the virtual GPU can pose as: the limits and properties that a program can see or
// run into (device properties, launch checks, occupancy). They decide no arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "support/result.h"

namespace kernelsmith {

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
};

// What one block needs, for the occupancy rules.
struct BlockNeeds {
  int threads = 0;
  int registers_per_thread = 0;  // 0: not known, does not limit
  int64_t shared_bytes = 0;      // static and dynamic
};

// How many such blocks one SM holds at a time; 0 if a single one does not fit. These are the rules
// of NVIDIA's occupancy calculator.
int MaxResidentBlocksPerSm(const GpuModel& gpu, const BlockNeeds& needs);

// Every model, the default (H100 SXM) first.
std::span<const GpuModel> AllGpuModels();
const GpuModel& DefaultGpuModel();

// By key ("h100", "a100", "l4", "rtx4090", "t4", "b200"), ignoring case, '-', '_' and spaces. An
// unknown name is an error that lists the known ones.
Result<const GpuModel*> FindGpuModel(std::string_view name);

}  // namespace kernelsmith
