#include "measure/estimate.h"

#include <gtest/gtest.h>

#include "measure/plan_estimate.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {
namespace {

using counters::InstructionClass;
using counters::LaunchCounters;

// A copy of 1 GiB, as counters say it.
LaunchCounters Copy() {
  LaunchCounters c;
  c.kernel = "copy";
  c.block = {256, 1, 1};
  c.blocks = c.watched_blocks = 262144;
  c.grid = {262144, 1, 1};
  c.warps = c.blocks * 8;
  const uint64_t bytes = uint64_t{1} << 30;
  c.global_loads = c.global_stores = c.global_waits = bytes / 512;
  c.global_load_bytes = c.global_store_bytes = bytes;
  c.global_load_sectors = c.global_store_sectors = c.l1_sectors = bytes / 32;
  c.l2_sectors = 2 * bytes / 32;
  c.dram_read_bytes = c.dram_written_bytes = bytes;
  c.issue_slots = c.warps * 10;
  c.by_class[static_cast<size_t>(InstructionClass::kInteger)] = c.warps * 6;
  const counters::PtxasKernel known{.registers = 16};
  counters::SetOccupancy(c, DefaultGpuModel(), &known);
  return c;
}

TEST(EstimateLaunch, ACopyIsLimitedByDram) {
  const GpuModel& gpu = DefaultGpuModel();
  const LaunchEstimate estimate = EstimateLaunch(Copy(), gpu);
  EXPECT_EQ(estimate.parts.front().name, "DRAM");
  EXPECT_GT(estimate.seconds, 2.0 * (uint64_t{1} << 30) / gpu.memory_bandwidth);
  EXPECT_LT(estimate.seconds, 2.6 * (uint64_t{1} << 30) / gpu.memory_bandwidth);
  EXPECT_NE(estimate.limit.find("DRAM: 2.15 GB"), std::string::npos) << estimate.limit;
}

TEST(EstimateLaunch, MoreOfAnythingTakesLonger) {
  const LaunchCounters before = Copy();
  const double seconds = EstimateLaunch(before, DefaultGpuModel()).seconds;
  const auto longer = [&](const auto& change) {
    LaunchCounters c = before;
    change(c);
    return EstimateLaunch(c, DefaultGpuModel()).seconds > 1.3 * seconds;
  };
  EXPECT_TRUE(longer([](auto& c) { c.dram_read_bytes *= 3; }));
  EXPECT_TRUE(longer([](auto& c) { c.issue_slots *= 50; }));
  EXPECT_TRUE(longer([](auto& c) { c.shared_wavefronts = c.warps * 1000; }));
  EXPECT_TRUE(longer([](auto& c) { c.special_operations = c.warps * 32 * 500; }));
  EXPECT_TRUE(longer([](auto& c) { c.flops_tensor = uint64_t{2} << 40; }));
  EXPECT_TRUE(longer([](auto& c) { c.global_load_sectors *= 32; }));
  EXPECT_TRUE(longer([](auto& c) {
    c.atomics = c.warps;
    c.atomic_lanes = c.atomic_addresses = c.atomic_turns = c.warps * 32;
    c.atomic_hottest_share = 1;
  }));
  EXPECT_TRUE(longer([](auto& c) {  // an eighth of the warps
    c.resident_blocks = 1;
    c.global_waits *= 4;
  }));
  EXPECT_TRUE(longer([](auto& c) { c.spill_load_bytes = c.spill_store_bytes = 2000; }));
  // Few spills in code that runs again and again are many.
  EXPECT_TRUE(longer([](auto& c) {
    c.spill_load_bytes = c.spill_store_bytes = 64;
    c.warp_instructions = c.warps * 2000;
    c.code_instructions = 10;
  }));
}

TEST(EstimateLaunch, CopiesThatArriveMeanwhileCostNoWait) {
  LaunchCounters c = Copy();
  c.global_waits = 0;
  const double without = EstimateLaunch(c, DefaultGpuModel()).seconds;
  c.async_waits = c.warps * 200;
  const double at_once = EstimateLaunch(c, DefaultGpuModel()).seconds;
  c.async_overlap = c.async_waits * 1000;
  const double meanwhile = EstimateLaunch(c, DefaultGpuModel()).seconds;
  EXPECT_GT(at_once, 1.3 * without);
  EXPECT_DOUBLE_EQ(meanwhile, without);
}

TEST(EstimateLaunch, OneBlockLeavesTheGpuIdle) {
  LaunchCounters c = Copy();
  c.blocks = c.watched_blocks = 1;
  c.warps = 8;
  const LaunchEstimate estimate = EstimateLaunch(c, DefaultGpuModel());
  EXPECT_NEAR(estimate.busy, 1.0 / 132, 1e-6);
  EXPECT_GT(estimate.seconds, 10 * EstimateLaunch(Copy(), DefaultGpuModel()).seconds);
}

TEST(EstimateLaunch, AnEmptyKernelIsItsLaunch) {
  LaunchCounters c;
  c.block = {32, 1, 1};
  c.blocks = c.warps = c.issue_slots = 1;
  const LaunchEstimate estimate = EstimateLaunch(c, DefaultGpuModel());
  EXPECT_LT(estimate.seconds, 2e-6);
  EXPECT_NE(estimate.limit.find("the launch itself"), std::string::npos);
}

TEST(Rates, EveryModelHasThem) {
  for (const GpuModel& gpu : AllGpuModels()) {
    const GpuRates& rates = gpu.rates;
    EXPECT_GT(rates.tensor_fp16, gpu.fp32_peak()) << gpu.key;
    EXPECT_GT(rates.l2_bandwidth, gpu.memory_bandwidth) << gpu.key;
    EXPECT_GT(rates.dram_latency, rates.l2_latency) << gpu.key;
  }
  // Data sheets: 66.9 and 19.5 teraflops.
  EXPECT_NEAR(DefaultGpuModel().fp32_peak() / 1e12, 66.9, 0.1);
  EXPECT_NEAR((*FindGpuModel("a100"))->fp32_peak() / 1e12, 19.5, 0.1);
}

TEST(EstimatePlan, NeverBelowTheFloor) {
  PlanProfile profile;
  StepProfile step{.name = "copy"};
  step.counters = Copy();
  profile.steps.push_back(step);
  const TaskFloor small{.bytes = 1000};
  const PlanEstimate free = EstimatePlan(profile, small, DefaultGpuModel());
  EXPECT_FALSE(free.at_floor);
  EXPECT_EQ(free.limit.substr(0, 5), "DRAM:");
  const TaskFloor large{.bytes = 100e9};
  const PlanEstimate bound = EstimatePlan(profile, large, DefaultGpuModel());
  EXPECT_TRUE(bound.at_floor);
  EXPECT_GE(bound.seconds, 100e9 / DefaultGpuModel().memory_bandwidth);
  const TaskFloor products{.flops = 989.4e12};
  EXPECT_GE(EstimatePlan(profile, products, DefaultGpuModel()).seconds, 1.0);
}

}  // namespace
}  // namespace kernelsmith
