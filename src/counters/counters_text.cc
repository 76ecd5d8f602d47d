// Counters for people: one line a question, the answer that asks for action first.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "counters/counters.h"
#include "support/demangle.h"
#include "support/diagnostic.h"

namespace kernelsmith::counters {

namespace {

// 1234567 -> "1,234,567".
std::string Count(uint64_t value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string Bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

class Table {
 public:
  void Row(std::string_view name, const std::string& text) {
    text_ += fmt::format("  {:<13} {}\n", name, text);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string Mix(const LaunchCounters& c) {
  std::vector<size_t> order;
  for (size_t i = 0; i < kInstructionClasses; ++i) {
    if (c.by_class[i] > 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return c.by_class[a] != c.by_class[b] ? c.by_class[a] > c.by_class[b] : a < b;
  });
  std::string text;
  for (const size_t i : order) {
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ",
                        Name(static_cast<InstructionClass>(i)),
                        Percent(c.by_class[i], c.warp_instructions));
  }
  return text;
}

std::string Dim(const vgpu::Dim3& d) { return fmt::format("{} x {} x {}", d.x, d.y, d.z); }

}  // namespace

std::string ToText(const LaunchCounters& c) {
  std::string head = fmt::format("{}  grid {}, block {}\n", EscapeForTerminal(KernelName(c.kernel)),
                                 Dim(c.grid), Dim(c.block));
  if (c.faulted) {
    head += "  the kernel ended early; counts are of what ran\n";
  } else if (c.sampled()) {
    head +=
        fmt::format("  sampled {} of {} blocks; counts are scaled\n", c.watched_blocks, c.blocks);
  } else {
    head += fmt::format("  all {} blocks watched; counts are exact\n", c.blocks);
  }
  Table table;
  table.Row("instructions", fmt::format("{} of warps, {:.1f} of 32 lanes active",
                                        Count(c.warp_instructions), c.ActiveLanes()));
  table.Row("", Mix(c));
  table.Row("divergence",
            fmt::format("{} of {} branches part lanes ({:.1f} %)", Count(c.divergent_branches),
                        Count(c.branches), Percent(c.divergent_branches, c.branches)));
  if (c.global_loads > 0) {
    table.Row("global loads",
              fmt::format("{} requests, {:.2f} sectors each; {} asked for, {} moved",
                          Count(c.global_loads), c.SectorsPerLoad(),
                          Bytes(static_cast<double>(c.global_load_bytes)),
                          Bytes(32.0 * static_cast<double>(c.global_load_sectors))));
  }
  if (c.global_stores > 0) {
    table.Row("global stores",
              fmt::format("{} requests, {:.2f} sectors each; {} asked for, {} moved",
                          Count(c.global_stores), c.SectorsPerStore(),
                          Bytes(static_cast<double>(c.global_store_bytes)),
                          Bytes(32.0 * static_cast<double>(c.global_store_sectors))));
  }
  table.Row("footprint",
            fmt::format("{} distinct ({} read, {} written), each byte used {:.1f} times",
                        Bytes(static_cast<double>(c.unique_bytes)),
                        Bytes(static_cast<double>(c.unique_read_bytes)),
                        Bytes(static_cast<double>(c.unique_written_bytes)), c.Reuse()));
  table.Row("caches",
            fmt::format("L1 serves {:.1f} % of loads, L2 {:.1f} % of the rest; {} from "
                        "and {} to memory (model)",
                        Percent(c.l1_hits, c.l1_sectors), Percent(c.l2_hits, c.l2_sectors),
                        Bytes(static_cast<double>(c.dram_read_bytes)),
                        Bytes(static_cast<double>(c.dram_written_bytes))));
  if (c.shared_requests > 0) {
    table.Row("shared memory",
              fmt::format("{} requests, {:.2f} passes where 1 would do (bank conflicts), worst "
                          "{}-way; {} moved",
                          Count(c.shared_requests), c.BankConflictFactor(), c.shared_worst_way,
                          Bytes(static_cast<double>(c.shared_bytes_moved))));
  }
  if (c.local_requests > 0) {
    table.Row("local memory",
              fmt::format("{} requests, {} moved (indexed arrays, stacks)", Count(c.local_requests),
                          Bytes(32.0 * static_cast<double>(c.local_sectors))));
  }
  if (c.atomics > 0) {
    table.Row("atomics",
              fmt::format("{} requests of {} lanes; lanes take {:.1f} turns on average, "
                          "{} at worst; {:.1f} % of all go to one address",
                          Count(c.atomics), Count(c.atomic_lanes),
                          static_cast<double>(c.atomic_turns) / static_cast<double>(c.atomics),
                          c.atomic_most_lanes, 100 * c.atomic_hottest_share));
  }
  if (c.shared_atomics > 0) {
    table.Row("", fmt::format("{} requests in shared memory, {:.1f} turns on average",
                              Count(c.shared_atomics),
                              static_cast<double>(c.shared_atomic_turns) /
                                  static_cast<double>(c.shared_atomics)));
  }
  if (c.async_waits > 0) {
    table.Row(
        "copies",
        fmt::format("{} waits for asynchronous ones, {:.0f} instructions behind them",
                    Count(c.async_waits),
                    static_cast<double>(c.async_overlap) / static_cast<double>(c.async_waits)));
  }
  if (c.barriers > 0) {
    table.Row("barriers", fmt::format("{} arrivals of warps, {:.1f} a warp", Count(c.barriers),
                                      static_cast<double>(c.barriers) /
                                          static_cast<double>(std::max<uint64_t>(1, c.warps))));
  }
  std::string registers = fmt::format("{} registers ({})", c.registers,
                                      c.registers_from_ptxas ? "ptxas" : "estimated, no ptxas");
  if (c.spill_store_bytes + c.spill_load_bytes > 0) {
    registers += fmt::format(", spills {} B stored and {} B loaded", c.spill_store_bytes,
                             c.spill_load_bytes);
  }
  table.Row("occupancy",
            fmt::format("{:.0f} %: {} blocks an SM, limited by {}; {}, {} B of shared memory",
                        100 * c.occupancy, c.resident_blocks, c.occupancy_limit, registers,
                        c.shared_bytes));
  std::string work = fmt::format("{} flops", Count(c.Flops()));
  if (c.flops_tensor > 0) work += fmt::format(" ({} by tensor cores)", Count(c.flops_tensor));
  table.Row("arithmetic", fmt::format("{}, {:.2f} for each byte from or to memory", work,
                                      c.ArithmeticIntensity()));
  return head + table.text();
}

}  // namespace kernelsmith::counters
