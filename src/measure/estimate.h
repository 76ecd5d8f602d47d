// How long a launch, a plan and PyTorch's eager mode take on a GPU that is not there. Every result
// is `estimated`: a model of counters, never mixed with measured times.
//
// A launch takes as long as its busiest resource: instruction issue, each kind of arithmetic,
// shared memory, L1, L2, DRAM, or the latency that its resident warps can't hide. Work is in whole
// blocks, so that the SM with the most of them decides (waves and tails). LaunchEstimate has all of
// these times: what limits a kernel is the largest.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "counters/counters.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

struct LaunchEstimate {
  // One resource: how long it is busy.
  struct Part {
    std::string name;  // "DRAM"
    double seconds = 0;
    std::string why;  // "12.0 MiB at 3.35 TB/s"
  };
  std::string kernel;
  double seconds = 0;       // on the device, without the launch itself
  std::vector<Part> parts;  // the longest first
  double waves = 0;         // grid over what the GPU holds at once
  double busy = 0;          // mean share of the SMs that have work
  std::string limit;        // in words: "DRAM: 12.0 MiB at ..."
};
LaunchEstimate EstimateLaunch(const counters::LaunchCounters& counters, const GpuModel& gpu);

// Host side of one call. From PyTorch eager's times on H100 (bench/eager), the same for candidates,
// which are PyTorch extensions as well.
struct CallOverhead {
  double call = 8.0e-6;    // Python, argument checks, events: once a call
  double launch = 2.5e-6;  // one kernel launch of a candidate: a GPU's time from launch to launch
};

nlohmann::json ToJson(const LaunchEstimate& estimate);
// "3.21 us".
std::string FormatSeconds(double seconds);
// "1.23 Gflop": three digits, a prefix and the unit.
std::string FormatQuantity(double value, const char* unit);

}  // namespace kernelsmith
