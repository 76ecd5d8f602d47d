// How fast the GPUs of vgpu/gpu_model.h are, beyond what a program can see: what estimates divide
// by.
#pragma once

#include "vgpu/gpu_model.h"

namespace kernelsmith {

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

// Of a model of AllGpuModels().
const GpuRates& RatesOf(const GpuModel& gpu);

// Peak of ordinary float32 arithmetic, operations a second.
double Fp32Peak(const GpuModel& gpu);
double ClockHz(const GpuModel& gpu);

}  // namespace kernelsmith
