#include "measure/gpu_rates.h"

#include <array>
#include <string_view>

#include "support/check.h"

namespace kernelsmith {

namespace {

struct Row {
  std::string_view key;
  GpuRates rates;
};

// Tensor cores: NVIDIA's data sheets, dense ("without sparsity"):
//   H100 SXM5 and B200 data sheets; A100 80GB data sheet; L4 data sheet (half of its figures with
//   sparsity); RTX 4090: Ada white paper, appendix A (float32 accumulation); T4 data sheet.
// L2 bandwidth and latencies are not published by NVIDIA: round numbers of the order that public
// microbenchmarks give (Chips and Cheese on H100 and RTX 4090, 2022 and 2023; Jia and others on T4,
// arXiv:1903.07486), not copied from a table of theirs; B200's are guessed from H100's.
constexpr std::array<Row, 6> kRows = {{
    {"h100",
     {.tensor_fp16 = 989.4e12,
      .tensor_tf32 = 494.7e12,
      .tensor_8bit = 1978.9e12,
      .l2_bandwidth = 5.7e12,
      .l2_latency = 150e-9,
      .dram_latency = 480e-9}},
    {"a100",
     {.tensor_fp16 = 312e12,
      .tensor_tf32 = 156e12,
      .tensor_8bit = 624e12,
      .l2_bandwidth = 4.4e12,
      .l2_latency = 185e-9,
      .dram_latency = 470e-9}},
    {"l4",
     {.tensor_fp16 = 121e12,
      .tensor_tf32 = 60e12,
      .tensor_8bit = 242e12,
      .l2_bandwidth = 1.9e12,
      .l2_latency = 140e-9,
      .dram_latency = 300e-9}},
    {"rtx4090",
     {.tensor_fp16 = 165.2e12,
      .tensor_tf32 = 82.6e12,
      .tensor_8bit = 330.3e12,
      .l2_bandwidth = 5.0e12,
      .l2_latency = 120e-9,
      .dram_latency = 290e-9}},
    {"t4",
     {.tensor_fp16 = 65e12,
      .tensor_tf32 = 0,
      .tensor_8bit = 130e12,
      .l2_bandwidth = 1.27e12,
      .l2_latency = 120e-9,
      .dram_latency = 280e-9}},
    {"b200",
     {.tensor_fp16 = 2250e12,
      .tensor_tf32 = 1125e12,
      .tensor_8bit = 4500e12,
      .l2_bandwidth = 10e12,
      .l2_latency = 150e-9,
      .dram_latency = 480e-9}},
}};

}  // namespace

const GpuRates& RatesOf(const GpuModel& gpu) {
  for (const Row& row : kRows) {
    if (row.key == gpu.key) return row.rates;
  }
  KS_CHECK(false);  // a model without a row: the test goes through all
  return kRows.front().rates;
}

double ClockHz(const GpuModel& gpu) { return 1000.0 * gpu.sm_clock_khz; }

double Fp32Peak(const GpuModel& gpu) {
  return 2.0 * gpu.fp32_lanes_per_sm * gpu.sm_count * ClockHz(gpu);
}

}  // namespace kernelsmith
