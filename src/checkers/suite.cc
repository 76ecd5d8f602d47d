#include "checkers/suite.h"

#include <fmt/format.h>

#include <algorithm>

namespace kernelsmith::checkers {

Result<std::vector<std::string>> ParseChecks(std::string_view list) {
  std::vector<Check> all;  // those that are not for verdicts alone
  for (const Check& check : AllChecks()) {
    if (check.make != nullptr || check.host != nullptr) all.push_back(check);
  }
  std::vector<std::string> chosen;
  if (list.empty()) list = "all";
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
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
                          FindingSink& sink, vgpu::VirtualGpu& gpu, Checked checked) {
  HostChecks host{.memory = false, .leaks = false, .errors = false};
  OrderChecker* orders = nullptr;
  for (const Check& check : AllChecks()) {
    if (std::find(checks.begin(), checks.end(), check.name) == checks.end()) continue;
    if (checked == Checked::kPlan && !check.for_plans) continue;
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
