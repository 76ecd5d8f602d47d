#include "optimize/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "counters/counters.h"
#include "measure/estimate.h"

namespace kernelsmith {
namespace {

using counters::LaunchCounters;
using nlohmann::json;

// A resource is worth a sentence if it is busy this much of the slower candidate's time less.
constexpr double kWorthTelling = 0.03;
constexpr size_t kMostReasons = 4;

struct Busy {
  double us = 0;
  double longest_us = -1;
  std::string why;  // what it is in the kernel that has most of it
};

// All steps of a candidate together.
struct Whole {
  size_t steps = 0;
  size_t kernels = 0;
  double time_us = 0;
  double device_us = 0;
  std::string limit;  // what limits the longest step
  std::map<std::string, Busy> resources;
  LaunchCounters sum;
  LaunchCounters longest;  // the kernel that takes longest
};

Whole Of(const ArchivedCandidate& candidate) {
  Whole whole;
  whole.time_us = candidate.time_ns.value_or(0) * 1e-3;
  double longest = -1;
  size_t longest_step = 0;
  if (candidate.limits.is_array()) {
    for (const json& step : candidate.limits) {
      const double us = step.value("us", 0.0);
      whole.device_us += us;
      const bool is_longest = us > longest;
      if (is_longest) {
        longest = us;
        longest_step = whole.steps;
        whole.limit = step.value("name", "");
      }
      ++whole.steps;
      if (!step.contains("launch")) continue;
      ++whole.kernels;
      if (is_longest) whole.limit = step["launch"].value("limit", "");
      for (const json& part : step["launch"].value("parts", json::array())) {
        Busy& busy = whole.resources[part.value("name", "")];
        const double part_us = part.value("us", 0.0);
        busy.us += part_us;
        if (part_us <= busy.longest_us) continue;
        busy.longest_us = part_us;
        busy.why = part.value("why", "");
      }
    }
  }
  size_t number = 0;
  for (const json& step : candidate.counters.value("steps", json::array())) {
    const size_t own = number++;
    if (!step.contains("counters")) continue;
    const Result<LaunchCounters> read = counters::FromJson(step["counters"]);
    if (!read.ok()) continue;
    const LaunchCounters& c = *read;
    if (own == longest_step) whole.longest = c;
    whole.sum.warp_instructions += c.warp_instructions;
    whole.sum.issue_slots += c.issue_slots;
    whole.sum.global_waits += c.global_waits;
    whole.sum.async_waits += c.async_waits;
    whole.sum.warps += c.warps;
    whole.sum.barriers += c.barriers;
    whole.sum.flops_fp32 += c.flops_fp32;
    whole.sum.flops_fp64 += c.flops_fp64;
    whole.sum.flops_fp16 += c.flops_fp16;
    whole.sum.flops_tensor += c.flops_tensor;
    whole.sum.special_operations += c.special_operations;
    whole.sum.global_loads += c.global_loads;
    whole.sum.global_load_sectors += c.global_load_sectors;
    whole.sum.global_load_bytes += c.global_load_bytes;
    whole.sum.l2_sectors += c.l2_sectors;
    whole.sum.dram_read_bytes += c.dram_read_bytes;
    whole.sum.dram_written_bytes += c.dram_written_bytes;
    whole.sum.shared_wavefronts += c.shared_wavefronts;
    whole.sum.shared_ideal_wavefronts += c.shared_ideal_wavefronts;
  }
  return whole;
}

void AddRows(const Whole& a, const Whole& b, std::vector<Explanation::Row>& rows) {
  const auto add = [&](const char* name, double before, double after, auto text) {
    if (before == 0 && after == 0) return;
    rows.push_back({name, before, after, text(before), text(after)});
  };
  const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  const auto us = [](double value) { return FormatSeconds(value * 1e-6); };
  const auto bytes = [](double value) { return FormatQuantity(value, "B"); };
  const auto plain = [](double value) { return FormatQuantity(value, ""); };
  const auto percent = [](double value) { return fmt::format("{:.0f} %", 100 * value); };
  const auto count = [](uint64_t value) { return static_cast<double>(value); };
  const auto per = [](uint64_t value, uint64_t each) {
    return each == 0 ? 0 : static_cast<double>(value) / static_cast<double>(each);
  };
  add("estimated time", a.time_us, b.time_us, us);
  add("on the device", a.device_us, b.device_us, us);
  add("kernels", count(a.kernels), count(b.kernels), number);
  add("copies, fills, libraries", count(a.steps - a.kernels), count(b.steps - b.kernels), number);
  add("DRAM traffic", count(a.sum.DramBytes()), count(b.sum.DramBytes()), bytes);
  add("L2 traffic", 32 * count(a.sum.l2_sectors), 32 * count(b.sum.l2_sectors), bytes);
  add("warp instructions", count(a.sum.issue_slots), count(b.sum.issue_slots), plain);
  add("flops", count(a.sum.Flops()), count(b.sum.Flops()), plain);
  add("of these on tensor cores", count(a.sum.flops_tensor), count(b.sum.flops_tensor), plain);
  add("bytes a load request", per(a.sum.global_load_bytes, a.sum.global_loads),
      per(b.sum.global_load_bytes, b.sum.global_loads), number);
  add("sectors a load request", a.sum.SectorsPerLoad(), b.sum.SectorsPerLoad(), number);
  add("waits for memory a warp", per(a.sum.global_waits, a.sum.warps),
      per(b.sum.global_waits, b.sum.warps), number);
  add("waits for copies a warp", per(a.sum.async_waits, a.sum.warps),
      per(b.sum.async_waits, b.sum.warps), number);
  add("shared memory passes", count(a.sum.shared_wavefronts), count(b.sum.shared_wavefronts),
      plain);
  add("bank conflicts (passes over ideal)", a.sum.BankConflictFactor(), b.sum.BankConflictFactor(),
      number);
  add("barriers", count(a.sum.barriers), count(b.sum.barriers), plain);
  add("threads a block, longest kernel", count(a.longest.block.Count()),
      count(b.longest.block.Count()), number);
  add("registers a thread, longest kernel", a.longest.registers, b.longest.registers, number);
  add("occupancy, longest kernel", a.longest.occupancy, b.longest.occupancy, percent);
}

// The sentence that says how a resource became less busy.
std::string Sentence(const std::string& resource, const Busy* before, const Busy* after) {
  const double was = before == nullptr ? 0 : before->us;
  if (after == nullptr) {
    return fmt::format("{}: {} before ({}), next to nothing now", resource,
                       FormatSeconds(was * 1e-6), before->why);
  }
  return fmt::format("{}: {} instead of {} ({}; before: {})", resource,
                     FormatSeconds(after->us * 1e-6), FormatSeconds(was * 1e-6), after->why,
                     before->why);
}

}  // namespace

Explanation Explain(const ArchivedCandidate& before, const ArchivedCandidate& after) {
  const Whole a = Of(before);
  const Whole b = Of(after);
  Explanation explanation;
  AddRows(a, b, explanation.counters);
  if (b.time_us >= a.time_us) {
    explanation.reasons.push_back("it is not faster");
    return explanation;
  }
  if (b.steps < a.steps) {
    explanation.reasons.push_back(fmt::format(
        "{} launch{} instead of {}: {} less for launching, and what went through memory between "
        "them stays in registers",
        b.steps, b.steps == 1 ? "" : "es", a.steps,
        FormatSeconds(static_cast<double>(a.steps - b.steps) * CallOverhead{}.launch)));
  }
  std::vector<std::pair<double, std::string>> gains;
  for (const auto& [resource, busy] : a.resources) {
    const auto found = b.resources.find(resource);
    const Busy* now = found == b.resources.end() ? nullptr : &found->second;
    const double gain = busy.us - (now == nullptr ? 0 : now->us);
    if (gain < kWorthTelling * a.device_us) continue;
    gains.emplace_back(gain, Sentence(resource, &busy, now));
  }
  std::sort(gains.begin(), gains.end(), [](const auto& x, const auto& y) {
    return x.first != y.first ? x.first > y.first : x.second < y.second;
  });
  for (const auto& [gain, sentence] : gains) {
    if (explanation.reasons.size() < kMostReasons) explanation.reasons.push_back(sentence);
  }
  // "DRAM: 12 MB at ..." begins with the resource.
  const auto resource = [](const std::string& limit) { return limit.substr(0, limit.find(':')); };
  if (resource(a.limit) != resource(b.limit)) {
    explanation.reasons.push_back(
        fmt::format("the longest kernel was limited by {}; now it is {}", a.limit, b.limit));
  }
  if (explanation.reasons.empty()) {
    explanation.reasons.push_back(
        "many small differences: no resource stands out (see the counters)");
  }
  return explanation;
}

json ToJson(const Explanation& explanation) {
  json rows = json::array();
  for (const Explanation::Row& row : explanation.counters) {
    rows.push_back({{"name", row.name},
                    {"before", row.before},
                    {"after", row.after},
                    {"before_text", row.before_text},
                    {"after_text", row.after_text}});
  }
  return {{"reasons", explanation.reasons}, {"counters", std::move(rows)}};
}

RooflinePoint RooflineOf(const ArchivedCandidate& candidate) {
  const Whole whole = Of(candidate);
  return {.flops = static_cast<double>(whole.sum.Flops()),
          .dram_bytes = static_cast<double>(whole.sum.DramBytes()),
          .device_seconds = whole.device_us * 1e-6};
}

}  // namespace kernelsmith
