#include "vgpu/gpu_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

const GpuModel& Gpu(const char* name) { return **FindGpuModel(name); }

TEST(GpuModel, IsFoundByAnySpelling) {
  EXPECT_EQ(&Gpu("h100"), &DefaultGpuModel());
  EXPECT_EQ(Gpu("RTX 4090").sm_count, 128);
  EXPECT_EQ(Gpu("rtx-4090").sm_count, 128);
  EXPECT_EQ(Gpu("NVIDIA L4").sm_count, 58);
  const auto unknown = FindGpuModel("voodoo\n2");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message(), ::testing::HasSubstr("known are h100, a100"));
}

TEST(GpuModel, TableIsConsistent) {
  for (const GpuModel& gpu : AllGpuModels()) {
    // Twice the clock times the width of the bus is the bandwidth of the data sheet, within 5 %.
    const double bandwidth = 2.0 * 1000 * gpu.memory_clock_khz * gpu.memory_bus_bits / 8;
    EXPECT_NEAR(bandwidth / gpu.memory_bandwidth, 1.0, 0.05) << gpu.name;
    EXPECT_LE(gpu.shared_per_block_optin + gpu.reserved_shared_per_block, gpu.shared_per_sm);
    EXPECT_GT(gpu.fp64_lanes_per_sm, 0);
    EXPECT_GE(gpu.unified_l1_bytes, gpu.shared_per_sm) << gpu.name;
    EXPECT_GT(gpu.rates.tensor_fp16, 0) << gpu.name;
    EXPECT_GT(gpu.rates.l2_bandwidth, 0) << gpu.name;
    EXPECT_GT(gpu.rates.l2_latency, 0) << gpu.name;
    EXPECT_GT(gpu.rates.dram_latency, 0) << gpu.name;
    EXPECT_THAT(GpuModelKeys(), ::testing::HasSubstr(std::string(gpu.key)));
  }
}

// By hand, with the rules of NVIDIA's occupancy calculator.
TEST(GpuModel, CountsResidentBlocks) {
  const GpuModel& h100 = Gpu("h100");
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 1024}), 2);
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 32}), 32);  // The number of blocks limits it.
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 96}), 21);  // 64 warps hold 21 of 3
  // 64 registers: 2048 a warp, so 32 warps, so 4 blocks of 8.
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 256, .registers_per_thread = 64}), 4);
  // 255: 8160 a warp, given as 8192, so 8 warps.
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 256, .registers_per_thread = 255}), 1);
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 512, .registers_per_thread = 255}), 0);
  // 48 KB and the driver's 1 KB: 228 KB hold 4.
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 128, .shared_bytes = 48 * 1024}), 4);
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 128, .shared_bytes = 227 * 1024}), 1);
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 128, .shared_bytes = 227 * 1024 + 1}), 0);
  EXPECT_EQ(MaxResidentBlocksPerSm(Gpu("t4"), {.threads = 1024}), 1);
  EXPECT_EQ(MaxResidentBlocksPerSm(Gpu("t4"), {.threads = 64, .shared_bytes = 32 * 1024}), 2);
  EXPECT_EQ(MaxResidentBlocksPerSm(Gpu("l4"), {.threads = 512}), 3);
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 0}), 0);
  EXPECT_EQ(MaxResidentBlocksPerSm(h100, {.threads = 1025}), 0);
}

}  // namespace
}  // namespace kernelsmith
