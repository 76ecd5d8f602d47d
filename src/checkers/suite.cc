#include "checkers/suite.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkers/bounds.h"
#include "checkers/index_overflow.h"
#include "checkers/init.h"
#include "checkers/race.h"
#include "checkers/sync.h"

namespace kernelsmith::checkers {

namespace {

using Made = std::unique_ptr<Checker>;

Made MakeBounds(FindingSink& sink, vgpu::VirtualGpu& gpu) { return MakeBoundsChecker(sink, gpu); }
// The verifier tells of bad accesses by the fault that they are.
Made MakeLimits(FindingSink& sink, vgpu::VirtualGpu&) { return MakeExactLimits(sink); }
Made MakeRace(FindingSink& sink, vgpu::VirtualGpu& gpu) {
  return std::make_unique<RaceChecker>(sink, gpu.memory());
}
Made MakeSync(FindingSink& sink, vgpu::VirtualGpu&) { return MakeSyncChecker(sink); }
Made MakeInit(FindingSink& sink, vgpu::VirtualGpu&) { return MakeInitChecker(sink); }
Made MakeIndex(FindingSink& sink, vgpu::VirtualGpu&) { return MakeIndexOverflowChecker(sink); }
Made MakeOrder(FindingSink& sink, vgpu::VirtualGpu&) {
  return std::make_unique<OrderChecker>(sink);
}

}  // namespace

const std::vector<Check>& AllChecks() {
  static const std::vector<Check> kAll = {
      {.name = "memory",
       .what = "accesses out of bounds, misaligned, to null or freed memory; double free",
       .make = MakeBounds,
       .host = &HostChecks::memory,
       .make_for_verdict = MakeLimits,
       .name_in_verdict = "bounds"},
      {.name = "race",
       .what = "races in shared and global memory, between threads, blocks and streams",
       .make = MakeRace,
       .make_for_verdict = MakeRace,
       .name_in_verdict = "races"},
      {.name = "sync",
       .what = "barriers and masks that lanes miss, deadlock, livelock",
       .make = MakeSync,
       .make_for_verdict = MakeSync,
       .name_in_verdict = "synchronisation"},
      {.name = "init",
       .what = "reads of memory and variables that were never given a value",
       .make = MakeInit,
       .make_for_verdict = MakeInit,
       .name_in_verdict = "uninitialised reads"},
      {.name = "index",
       .what = "32-bit index arithmetic that wraps and becomes part of an address",
       .make = MakeIndex},
      {.name = "leak",
       .what = "memory that is never freed",
       .host = &HostChecks::leaks,
       .for_plans = false},
      // The verifier has a stage of its own for it, which judges results in other orders.
      {.name = "determinism",
       .what = "results that depend on the order in which threads run",
       .make = MakeOrder},
      {.name = "api",
       .what = "errors of the API and of launches that the program does not look at",
       .host = &HostChecks::errors},
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
      for (const Check& check : all) chosen.emplace_back(check.name);
      continue;
    }
    if (std::none_of(all.begin(), all.end(), [&](const Check& c) { return name == c.name; })) {
      std::string names;
      for (const Check& check : all) names += std::string(", ") + check.name;
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

OrderChecker* AddCheckers(CheckerList& list, const std::vector<std::string>& checks,
                          FindingSink& sink, vgpu::VirtualGpu& gpu, CheckSubject subject) {
  HostChecks host{.memory = false, .leaks = false, .errors = false};
  OrderChecker* orders = nullptr;
  for (const Check& check : AllChecks()) {
    if (std::find(checks.begin(), checks.end(), check.name) == checks.end()) continue;
    if (subject == CheckSubject::kPlan && !check.for_plans) continue;
    if (check.host != nullptr) host.*check.host = true;
    if (check.make == nullptr) continue;
    std::unique_ptr<Checker> made = check.make(sink, gpu);
    if (auto* order = dynamic_cast<OrderChecker*>(made.get())) orders = order;
    list.Add(std::move(made));
  }
  list.Add(MakeHostChecker(sink, host));
  return orders;
}

void AddVerdictCheckers(CheckerList& list, FindingSink& sink, vgpu::VirtualGpu& gpu) {
  for (const Check& check : AllChecks()) {
    if (check.make_for_verdict != nullptr) list.Add(check.make_for_verdict(sink, gpu));
  }
}

std::vector<std::string> VerdictCheckerNames() {
  std::vector<std::string> names;
  for (const Check& check : AllChecks()) {
    if (check.make_for_verdict != nullptr) names.emplace_back(check.name_in_verdict);
  }
  return names;
}

}  // namespace kernelsmith::checkers
