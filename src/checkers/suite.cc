#include "checkers/suite.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkers/bounds.h"
#include "checkers/host.h"
#include "checkers/index_overflow.h"
#include "checkers/init.h"
#include "checkers/race.h"
#include "checkers/sync.h"

namespace kernelsmith::checkers {

const std::vector<CheckName>& AllChecks() {
  static const std::vector<CheckName> kAll = {
      {"memory", "accesses out of bounds, misaligned, to null or freed memory; double free"},
      {"init", "reads of memory and variables that were never given a value"},
      {"race", "races in shared and global memory, between threads, blocks and streams"},
      {"sync", "barriers and masks that lanes miss, deadlock, livelock"},
      {"index", "32-bit index arithmetic that wraps and becomes part of an address"},
      {"leak", "memory that is never freed"},
      {"determinism", "results that depend on the order in which threads run"},
      {"api", "errors of the API and of launches that the program does not look at"},
  };
  return kAll;
}

Result<std::vector<std::string>> ParseChecks(std::string_view list) {
  std::vector<std::string> chosen;
  if (list.empty()) list = "all";
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    const auto& all = AllChecks();
    if (name == "all") {
      for (const CheckName& check : all) chosen.emplace_back(check.name);
      continue;
    }
    if (std::none_of(all.begin(), all.end(), [&](const CheckName& c) { return name == c.name; })) {
      std::string names;
      for (const CheckName& check : all) names += std::string(", ") + check.name;
      return InvalidInput(fmt::format("there is no check '{}'; there are all{}", name, names));
    }
    chosen.emplace_back(name);
  }
  return chosen;
}

void SetMemoryOptions(vgpu::DeviceMemory::Options& options) {
  options.guard = uint64_t{1} << 20;
  options.most_guard = uint64_t{256} << 20;
  options.quarantine_bytes = uint64_t{1} << 30;
}

void AddCheckers(CheckerList& list, const std::vector<std::string>& checks, FindingSink& sink,
                 vgpu::VirtualGpu& gpu) {
  const auto has = [&](std::string_view name) {
    return std::find(checks.begin(), checks.end(), name) != checks.end();
  };
  if (has("memory")) list.Add(MakeBoundsChecker(sink, gpu));
  if (has("index")) list.Add(MakeIndexOverflowChecker(sink));
  if (has("race")) list.Add(std::make_unique<RaceChecker>(sink, gpu.memory()));
  if (has("sync")) list.Add(MakeSyncChecker(sink));
  if (has("init")) list.Add(MakeInitChecker(sink));
  list.Add(
      MakeHostChecker(sink, {.memory = has("memory"), .leaks = has("leak"), .errors = has("api")}));
}

}  // namespace kernelsmith::checkers
