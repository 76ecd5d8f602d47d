#include "vgpu/gpu_model.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace kernelsmith {
namespace {

// Where each number is documented, by the letters that the rows cite (the rows were not copied from
// one sheet: check against the source before a decision hangs on a number):
//   G  CUDA C++ Programming Guide 13, "Technical specifications per compute capability": threads,
//      blocks and shared memory per SM, opt-in and reserved shared memory, clusters
//   W  NVIDIA's architecture white papers (Turing, Ampere GA100, Ada, Hopper) and the Blackwell
//      tuning guide: SMs, lanes per SM, L2, clocks, bus width
//   D  data sheet of the product: memory size and bandwidth
//   U  tuning guides of the architectures: L1 and shared memory together
//   T  the product's data sheet, rates of tensor cores "without sparsity" (L4: half of its figures
//      with sparsity; RTX 4090: Ada white paper, appendix A, float32 accumulation)
//   M  L2 bandwidth and latencies are not published by NVIDIA: round numbers of the order that
//      public microbenchmarks give (Chips and Cheese on H100 and RTX 4090, 2022 and 2023; Jia and
//      others on T4, arXiv:1903.07486), not copied from a table of theirs; B200's are guessed from
//      H100's
//   Q  what deviceQuery prints on the product: bytes of global memory left by the driver (a few
//      megabytes more or less from driver to driver), clock rates, copy engines, largest
//      persisting L2 (5/8 of L2 on H100, assumed for B200; 3/4 on A100; 11/16 on Ada)
constexpr GpuModel kModels[] = {
    // W, D, Q, U, T, M: H100 SXM5, 132 SMs, 50 MB L2, 5120 bit HBM3 at 2619 MHz, 3.35 TB/s. G: 9.0.
    {.key = "h100",
     .name = "NVIDIA H100 80GB HBM3",
     .major = 9,
     .minor = 0,
     .sm_count = 132,
     .global_memory_bytes = 85'017'755'648,
     .l2_bytes = 52'428'800,
     .persisting_l2_bytes = 32'768'000,
     .sm_clock_khz = 1'980'000,
     .memory_clock_khz = 2'619'000,
     .memory_bus_bits = 5120,
     .memory_bandwidth = 3.35e12,
     .ecc = true,
     .async_engines = 3,
     .fp32_lanes_per_sm = 128,
     .fp64_lanes_per_sm = 64,
     .max_threads_per_sm = 2048,
     .max_blocks_per_sm = 32,
     .shared_per_sm = 228 * 1024,
     .shared_per_block_optin = 227 * 1024,
     .reserved_shared_per_block = 1024,
     .max_cluster_blocks = 8,
     .unified_l1_bytes = 256 * 1024,
     .rates = {.tensor_fp16 = 989.4e12,
               .tensor_tf32 = 494.7e12,
               .tensor_8bit = 1978.9e12,
               .l2_bandwidth = 5.7e12,
               .l2_latency = 150e-9,
               .dram_latency = 480e-9}},
    // W, D, Q, U, T, M: A100 SXM4 80 GB, 108 SMs, 40 MB L2, 5120 bit HBM2e at 1593 MHz, 2.039 TB/s.
    // G: 8.0.
    {.key = "a100",
     .name = "NVIDIA A100-SXM4-80GB",
     .major = 8,
     .minor = 0,
     .sm_count = 108,
     .global_memory_bytes = 85'094'825'984,
     .l2_bytes = 41'943'040,
     .persisting_l2_bytes = 31'457'280,
     .sm_clock_khz = 1'410'000,
     .memory_clock_khz = 1'593'000,
     .memory_bus_bits = 5120,
     .memory_bandwidth = 2.039e12,
     .ecc = true,
     .async_engines = 3,
     .fp32_lanes_per_sm = 64,
     .fp64_lanes_per_sm = 32,
     .max_threads_per_sm = 2048,
     .max_blocks_per_sm = 32,
     .shared_per_sm = 164 * 1024,
     .shared_per_block_optin = 163 * 1024,
     .reserved_shared_per_block = 1024,
     .max_cluster_blocks = 0,
     .unified_l1_bytes = 192 * 1024,
     .rates = {.tensor_fp16 = 312e12,
               .tensor_tf32 = 156e12,
               .tensor_8bit = 624e12,
               .l2_bandwidth = 4.4e12,
               .l2_latency = 185e-9,
               .dram_latency = 470e-9}},
    // W, D, Q, U, T, M: L4, 58 SMs, 48 MB L2, 192 bit GDDR6 at 6251 MHz, 300 GB/s. G: 8.9.
    {.key = "l4",
     .name = "NVIDIA L4",
     .major = 8,
     .minor = 9,
     .sm_count = 58,
     .global_memory_bytes = 23'580'639'232,
     .l2_bytes = 50'331'648,
     .persisting_l2_bytes = 34'603'008,
     .sm_clock_khz = 2'040'000,
     .memory_clock_khz = 6'251'000,
     .memory_bus_bits = 192,
     .memory_bandwidth = 300e9,
     .ecc = true,
     .async_engines = 2,
     .fp32_lanes_per_sm = 128,
     .fp64_lanes_per_sm = 2,
     .max_threads_per_sm = 1536,
     .max_blocks_per_sm = 24,
     .shared_per_sm = 100 * 1024,
     .shared_per_block_optin = 99 * 1024,
     .reserved_shared_per_block = 1024,
     .max_cluster_blocks = 0,
     .unified_l1_bytes = 128 * 1024,
     .rates = {.tensor_fp16 = 121e12,
               .tensor_tf32 = 60e12,
               .tensor_8bit = 242e12,
               .l2_bandwidth = 1.9e12,
               .l2_latency = 140e-9,
               .dram_latency = 300e-9}},
    // W, D, Q, U, T, M: GeForce RTX 4090, 128 SMs, 72 MB L2, 384 bit GDDR6X at 10501 MHz, 1008
    // GB/s. G: 8.9.
    {.key = "rtx4090",
     .name = "NVIDIA GeForce RTX 4090",
     .major = 8,
     .minor = 9,
     .sm_count = 128,
     .global_memory_bytes = 25'393'692'672,
     .l2_bytes = 75'497'472,
     .persisting_l2_bytes = 51'904'512,
     .sm_clock_khz = 2'520'000,
     .memory_clock_khz = 10'501'000,
     .memory_bus_bits = 384,
     .memory_bandwidth = 1008e9,
     .ecc = false,
     .async_engines = 2,
     .fp32_lanes_per_sm = 128,
     .fp64_lanes_per_sm = 2,
     .max_threads_per_sm = 1536,
     .max_blocks_per_sm = 24,
     .shared_per_sm = 100 * 1024,
     .shared_per_block_optin = 99 * 1024,
     .reserved_shared_per_block = 1024,
     .max_cluster_blocks = 0,
     .unified_l1_bytes = 128 * 1024,
     .rates = {.tensor_fp16 = 165.2e12,
               .tensor_tf32 = 82.6e12,
               .tensor_8bit = 330.3e12,
               .l2_bandwidth = 5.0e12,
               .l2_latency = 120e-9,
               .dram_latency = 290e-9}},
    // W, D, Q, U, T, M: Tesla T4, 40 SMs, 4 MB L2, 256 bit GDDR6 at 5001 MHz, 320 GB/s. G: 7.5,
    // where the
    // driver reserves no shared memory and L2 persistence does not exist.
    {.key = "t4",
     .name = "Tesla T4",
     .major = 7,
     .minor = 5,
     .sm_count = 40,
     .global_memory_bytes = 15'843'721'216,
     .l2_bytes = 4'194'304,
     .persisting_l2_bytes = 0,
     .sm_clock_khz = 1'590'000,
     .memory_clock_khz = 5'001'000,
     .memory_bus_bits = 256,
     .memory_bandwidth = 320e9,
     .ecc = true,
     .async_engines = 3,
     .fp32_lanes_per_sm = 64,
     .fp64_lanes_per_sm = 2,
     .max_threads_per_sm = 1024,
     .max_blocks_per_sm = 16,
     .shared_per_sm = 64 * 1024,
     .shared_per_block_optin = 64 * 1024,
     .reserved_shared_per_block = 0,
     .max_cluster_blocks = 0,
     .unified_l1_bytes = 96 * 1024,
     .rates = {.tensor_fp16 = 65e12,
               .tensor_tf32 = 0,
               .tensor_8bit = 130e12,
               .l2_bandwidth = 1.27e12,
               .l2_latency = 120e-9,
               .dram_latency = 280e-9}},
    // B200: github.com/pytorch/ao pull request 4002 quotes the driver: 148 SMs, 178.35 GB, 126.5 MB
    // L2, 7680 bit HBM3e at 3996 MHz, 228 KB shared memory per SM. G: 10.0. U, T, M.
    {.key = "b200",
     .name = "NVIDIA B200",
     .major = 10,
     .minor = 0,
     .sm_count = 148,
     .global_memory_bytes = 191'501'828'096,
     .l2_bytes = 132'644'864,
     .persisting_l2_bytes = 82'903'040,
     .sm_clock_khz = 1'965'000,
     .memory_clock_khz = 3'996'000,
     .memory_bus_bits = 7680,
     .memory_bandwidth = 7.67e12,
     .ecc = true,
     .async_engines = 4,
     .fp32_lanes_per_sm = 128,
     .fp64_lanes_per_sm = 64,
     .max_threads_per_sm = 2048,
     .max_blocks_per_sm = 32,
     .shared_per_sm = 228 * 1024,
     .shared_per_block_optin = 227 * 1024,
     .reserved_shared_per_block = 1024,
     .max_cluster_blocks = 8,
     .unified_l1_bytes = 256 * 1024,
     .rates = {.tensor_fp16 = 2250e12,
               .tensor_tf32 = 1125e12,
               .tensor_8bit = 4500e12,
               .l2_bandwidth = 10e12,
               .l2_latency = 150e-9,
               .dram_latency = 480e-9}},
};

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

std::string Normalised(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

}  // namespace

std::span<const GpuModel> AllGpuModels() { return kModels; }

const GpuModel& DefaultGpuModel() { return kModels[0]; }

std::string GpuModelKeys() {
  std::string keys;
  for (const GpuModel& model : kModels) {
    keys += keys.empty() ? "" : ", ";
    keys += model.key;
  }
  return keys;
}

Result<const GpuModel*> FindGpuModel(std::string_view name) {
  const std::string wanted = Normalised(name);
  for (const GpuModel& model : kModels) {
    if (wanted == model.key || wanted == Normalised(model.name)) return &model;
  }
  return InvalidInput("unknown GPU '" + EscapeForTerminal(name) + "'; known are " + GpuModelKeys());
}

int64_t RegistersOfBlock(int64_t threads, int64_t registers_per_thread) {
  const int64_t warps = RoundUp(threads, GpuModel::kWarpSize) / GpuModel::kWarpSize;
  const int64_t per_warp =
      RoundUp(registers_per_thread * GpuModel::kWarpSize, GpuModel::kRegisterUnit);
  return per_warp * RoundUp(warps, GpuModel::kWarpGranularity);
}

int MaxResidentBlocksPerSm(const GpuModel& gpu, const BlockNeeds& needs) {
  if (needs.threads <= 0 || needs.threads > GpuModel::kMaxThreadsPerBlock) return 0;
  const int warps = (needs.threads + GpuModel::kWarpSize - 1) / GpuModel::kWarpSize;
  int64_t blocks = std::min(gpu.max_blocks_per_sm, gpu.max_warps_per_sm() / warps);
  if (needs.registers_per_thread > 0) {
    const int64_t per_warp =
        RoundUp(int64_t{needs.registers_per_thread} * GpuModel::kWarpSize, GpuModel::kRegisterUnit);
    // Each of the four partitions of an SM gives registers to whole warps.
    const int64_t warps_by_registers = GpuModel::kRegistersPerSm / per_warp /
                                       GpuModel::kWarpGranularity * GpuModel::kWarpGranularity;
    if (RegistersOfBlock(needs.threads, needs.registers_per_thread) >
        GpuModel::kRegistersPerBlock) {
      return 0;
    }
    blocks = std::min(blocks, warps_by_registers / warps);
  }
  if (needs.shared_bytes > gpu.shared_per_block_optin) return 0;
  const int64_t shared =
      RoundUp(needs.shared_bytes + gpu.reserved_shared_per_block, gpu.shared_unit());
  if (shared > 0) blocks = std::min(blocks, gpu.shared_per_sm / shared);
  return static_cast<int>(blocks);
}

}  // namespace kernelsmith
