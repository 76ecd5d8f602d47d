#include "measure/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/demangle.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

namespace {

using counters::InstructionClass;
using counters::LaunchCounters;

// DRAM reaches so much of its data sheet's bandwidth in long copies (refresh, read to write
// turnarounds); 0.90 to 0.94 on HBM.
constexpr double kDramShare = 0.92;
// Resources do not overlap perfectly: the time is a p-norm of theirs. 4 makes two equal ones cost
// 1.19 of one.
constexpr double kOverlap = 4;
// Clocks from an arithmetic instruction to one that uses its result, over the independent
// instructions that compilers find in between (about two).
constexpr double kDependentIssueClocks = 2.5;
constexpr double kBarrierClocks = 30;
// From the launch to the first instruction and from the last to the end, on the device.
constexpr double kRampSeconds = 0.8e-6;
// Atomics on one address: one a clock of L2 and address (about 1 ns); lanes of a warp are combined
// for reductions without result, not by PTX's atom.
constexpr double kSameAddressAtomicSeconds = 1.0e-9;
// Atomics in different addresses: L2 does one 32-byte sector of them a clock in each of its slices;
// as many as half of the SMs.
constexpr double kAtomicSectorsPerClockPerSm = 0.5;

class Model {
 public:
  Model(const LaunchCounters& counters, const GpuModel& gpu)
      : c_(counters), gpu_(gpu), rates_(gpu.rates) {
    const auto blocks = static_cast<double>(std::max<uint64_t>(1, c_.blocks));
    resident_ = std::max<double>(1, c_.resident_blocks);
    // The SM with the most blocks has this share of the work; with many waves the GPU evens blocks
    // of different length out.
    blocks_on_busiest_ = std::ceil(blocks / gpu_.sm_count);
    share_ = blocks_on_busiest_ / blocks;
    busy_ = blocks / (blocks_on_busiest_ * gpu_.sm_count);
    waves_ = blocks / (resident_ * gpu_.sm_count);
  }

  LaunchEstimate Run() {
    Issue();
    Arithmetic();
    SharedMemory();
    Caches();
    Dram();
    Atomics();
    Latency();
    LaunchEstimate estimate{.kernel = c_.kernel};
    const double sum = std::pow(pipes_, kOverlap) + others_;
    estimate.seconds = std::pow(sum, 1 / kOverlap) + kRampSeconds;
    std::sort(parts_.begin(), parts_.end(), [](const auto& a, const auto& b) {
      return a.seconds != b.seconds ? a.seconds > b.seconds : a.name < b.name;
    });
    // A hundredth of the longest says nothing.
    std::erase_if(parts_,
                  [&](const auto& part) { return part.seconds < 0.01 * parts_.front().seconds; });
    estimate.waves = waves_;
    estimate.busy = busy_;
    estimate.limit = parts_.front().seconds < kRampSeconds
                         ? "the launch itself: there is too little work"
                         : parts_.front().name + ": " + parts_.front().why;
    estimate.parts = std::move(parts_);
    return estimate;
  }

 private:
  void Add(std::string name, double seconds, std::string why) {
    others_ += std::pow(seconds, kOverlap);
    Note(std::move(name), seconds, std::move(why));
  }
  // Issue slots and what they feed: each instruction is in both, and another pipe's instructions
  // are issued while one is busy, so that the longest alone counts.
  void AddPipe(std::string name, double seconds, std::string why) {
    pipes_ = std::max(pipes_, seconds);
    Note(std::move(name), seconds, std::move(why));
  }
  void Note(std::string name, double seconds, std::string why) {
    if (seconds > 0) parts_.push_back({std::move(name), seconds, std::move(why)});
  }
  // The time of work that SMs do by themselves, `clocks` in all.
  double OnSms(double clocks) const { return clocks * share_ / gpu_.clock_hz(); }
  double Of(InstructionClass which) const {
    return static_cast<double>(c_.by_class[static_cast<size_t>(which)]);
  }
  // How often a warp executes an instruction of the code, in the mean. ptxas tells spills of the
  // code; where in it they are nobody does, and most of it may be the body of a loop.
  double Repeats() const {
    if (c_.code_instructions == 0 || c_.warps == 0) return 1;
    return std::max(1.0, static_cast<double>(c_.warp_instructions) / static_cast<double>(c_.warps) /
                             static_cast<double>(c_.code_instructions));
  }
  std::string Tail() const {
    return busy_ < 0.9 ? fmt::format(", {:.0f} % of the SMs have work", 100 * busy_) : "";
  }

  void Issue() {
    // Spilled registers go through local memory: a store and a load for each four bytes.
    const double spills = (c_.spill_store_bytes + c_.spill_load_bytes) / 4.0 * Repeats() *
                          static_cast<double>(c_.warps);
    const double slots = static_cast<double>(c_.issue_slots) + spills;
    AddPipe("instruction issue", OnSms(slots / GpuRates::kIssuePerClock),
            FormatQuantity(slots, "warp instructions") + Tail());
  }

  void Arithmetic() {
    const auto lanes = [](double warps) { return 32 * warps; };
    // Pipes of the SM in parallel; float32 and integers share issue, not lanes.
    AddPipe("float32 units", OnSms(lanes(Of(InstructionClass::kFp32)) / gpu_.fp32_lanes_per_sm),
            FormatQuantity(static_cast<double>(c_.flops_fp32), "flop") + Tail());
    AddPipe("float64 units", OnSms(lanes(Of(InstructionClass::kFp64)) / gpu_.fp64_lanes_per_sm),
            FormatQuantity(static_cast<double>(c_.flops_fp64), "flop") + Tail());
    AddPipe("float16 units", OnSms(lanes(Of(InstructionClass::kFp16)) / gpu_.fp32_lanes_per_sm),
            FormatQuantity(static_cast<double>(c_.flops_fp16), "flop") + Tail());
    AddPipe("integer units",
            OnSms(lanes(Of(InstructionClass::kInteger)) / rates_.int32_lanes_per_sm),
            FormatQuantity(lanes(Of(InstructionClass::kInteger)), "operations") + Tail());
    AddPipe("special functions",
            OnSms(static_cast<double>(c_.special_operations) / GpuRates::kSpecialLanes),
            FormatQuantity(static_cast<double>(c_.special_operations), "operations") + Tail());
    // Conversions run at a quarter of the float32 rate, on 16 lanes.
    AddPipe("conversions", OnSms(lanes(Of(InstructionClass::kConversion)) / 64),
            "type conversions");
    const auto per_sm_second = [&](double peak) { return peak / gpu_.sm_count; };
    const double plain =
        static_cast<double>(c_.flops_tensor - c_.flops_tensor_tf32 - c_.flops_tensor_8bit);
    double seconds = plain * share_ / per_sm_second(rates_.tensor_fp16);
    seconds +=
        static_cast<double>(c_.flops_tensor_8bit) * share_ / per_sm_second(rates_.tensor_8bit);
    const double tf32 = rates_.tensor_tf32 > 0 ? rates_.tensor_tf32 : gpu_.fp32_peak();
    seconds += static_cast<double>(c_.flops_tensor_tf32) * share_ / per_sm_second(tf32);
    AddPipe("tensor cores", seconds,
            FormatQuantity(static_cast<double>(c_.flops_tensor), "flop") + Tail());
  }

  void SharedMemory() {
    const auto passes = static_cast<double>(c_.shared_wavefronts + c_.shared_atomic_turns);
    std::string why = FormatQuantity(passes, "passes");
    if (c_.BankConflictFactor() > 1.1) {
      why += fmt::format(", {:.1f} where one would do (bank conflicts)", c_.BankConflictFactor());
    }
    Add("shared memory", OnSms(passes / GpuRates::kSharedPassesPerClock), why + Tail());
  }

  void Caches() {
    const double requests =
        static_cast<double>(c_.global_loads + c_.global_stores + c_.local_requests);
    const double sectors =
        static_cast<double>(c_.global_load_sectors + c_.global_store_sectors + c_.local_sectors);
    std::string why = FormatQuantity(sectors, "sectors");
    if (c_.SectorsPerLoad() > 1.5 * c_.IdealSectorsPerLoad()) {
      why += fmt::format(", {:.1f} a request where {:.1f} hold what is asked for (not coalesced)",
                         c_.SectorsPerLoad(), c_.IdealSectorsPerLoad());
    }
    Add("L1", OnSms(std::max(requests, sectors / GpuRates::kL1SectorsPerClock)), why + Tail());
    const double bytes = 32.0 * static_cast<double>(c_.l2_sectors);
    // An SM can't draw more than 64 bytes a clock from L2.
    const double by_sm = OnSms(bytes / 64);
    Add("L2", std::max(bytes / rates_.l2_bandwidth, by_sm),
        FormatQuantity(bytes, "B") + " at " + FormatQuantity(rates_.l2_bandwidth, "B/s") + Tail());
  }

  void Dram() {
    const double bandwidth = gpu_.memory_bandwidth * kDramShare;
    const auto bytes = static_cast<double>(c_.DramBytes());
    Add("DRAM", bytes / bandwidth,
        FormatQuantity(bytes, "B") + " at " + FormatQuantity(bandwidth, "B/s"));
  }

  void Atomics() {
    if (c_.atomics == 0) return;
    const double hottest = c_.atomic_hottest_share * static_cast<double>(c_.atomic_lanes);
    // Reductions of a warp to one address are combined before they leave the SM.
    const double combined =
        hottest * static_cast<double>(c_.atomic_addresses) / static_cast<double>(c_.atomic_lanes);
    Add("atomics on one address", std::max(combined, hottest / 32) * kSameAddressAtomicSeconds,
        FormatQuantity(hottest, "updates") + " of the same word");
    const double sectors = static_cast<double>(c_.atomic_addresses);
    Add("atomics",
        sectors / (kAtomicSectorsPerClockPerSm * gpu_.sm_count * gpu_.clock_hz()) +
            OnSms(static_cast<double>(c_.atomic_turns)),
        FormatQuantity(static_cast<double>(c_.atomic_lanes), "updates"));
  }

  // What one warp after the other needs, as many of them at a time as the SM holds.
  void Latency() {
    const auto warps = static_cast<double>(std::max<uint64_t>(1, c_.warps));
    const double clock = gpu_.clock_hz();
    const double l1 = c_.l1_sectors == 0
                          ? 0
                          : static_cast<double>(c_.l1_hits) / static_cast<double>(c_.l1_sectors);
    const double l2 = c_.l2_sectors == 0
                          ? 0
                          : static_cast<double>(c_.l2_hits) / static_cast<double>(c_.l2_sectors);
    const double load = l1 * GpuRates::kL1LatencyClocks / clock +
                        (1 - l1) * (l2 * rates_.l2_latency + (1 - l2) * rates_.dram_latency);
    const double waits = static_cast<double>(c_.global_waits) / warps;
    const double copies = static_cast<double>(c_.async_waits) / warps;
    // Of four at a time, from L1.
    const double spill_waits = c_.spill_load_bytes / 4.0 / 4 * Repeats();
    const double seconds =
        waits * load + AsyncSeconds(load, clock) / warps +
        (static_cast<double>(c_.shared_waits) / warps * GpuRates::kSharedLatencyClocks +
         spill_waits * GpuRates::kL1LatencyClocks +
         static_cast<double>(c_.barriers) / warps * kBarrierClocks +
         static_cast<double>(c_.issue_slots) / warps * kDependentIssueClocks) /
            clock;
    const double rounds = std::max(1.0, blocks_on_busiest_ / resident_);
    Add("latency", seconds * rounds,
        fmt::format(
            "{:.1f} waits for memory a warp{}, {:.0f} % occupancy (limited by {}), {:.1f} rounds "
            "of blocks",
            waits, copies > 0 ? fmt::format(", {:.1f} for copies", copies) : "", 100 * c_.occupancy,
            c_.occupancy_limit, rounds));
  }

  // Waits for asynchronous copies, less what the warps did while these were under way.
  double AsyncSeconds(double load, double clock) const {
    const double overlap = static_cast<double>(c_.async_overlap) * kDependentIssueClocks / clock;
    return std::max(0.0, static_cast<double>(c_.async_waits) * load - overlap);
  }

  const LaunchCounters& c_;
  const GpuModel& gpu_;
  const GpuRates& rates_;
  double resident_ = 1;
  double blocks_on_busiest_ = 1;
  double share_ = 1;
  double busy_ = 1;
  double waves_ = 1;
  double pipes_ = 0;   // the time of the longest pipe
  double others_ = 0;  // powers of their seconds
  std::vector<LaunchEstimate::Part> parts_;
};

}  // namespace

LaunchEstimate EstimateLaunch(const LaunchCounters& counters, const GpuModel& gpu) {
  return Model(counters, gpu).Run();
}

nlohmann::json ToJson(const LaunchEstimate& estimate) {
  nlohmann::json parts = nlohmann::json::array();
  for (const LaunchEstimate::Part& part : estimate.parts) {
    parts.push_back({{"name", part.name}, {"us", part.seconds * 1e6}, {"why", part.why}});
  }
  return {{"kind", "estimated"},
          {"kernel", estimate.kernel},
          {"kernel_name", KernelName(estimate.kernel)},
          {"us", estimate.seconds * 1e6},
          {"limit", estimate.limit},
          {"waves", estimate.waves},
          {"busy_sms", estimate.busy},
          {"parts", std::move(parts)}};
}

std::string FormatQuantity(double value, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t i = 0;
  while (value >= 1000 && i + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++i;
  }
  return fmt::format("{:.3g} {}{}", value, kPrefixes[i], unit);
}

std::string FormatSeconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

}  // namespace kernelsmith
