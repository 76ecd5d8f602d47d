#include "evolve/settings.h"

#include <fmt/format.h>

namespace kernelsmith {

using nlohmann::json;

json ToJson(const EvolutionBudget& budget) {
  return {
      {"candidates", budget.candidates}, {"seconds", budget.seconds}, {"dollars", budget.dollars}};
}

json ToJson(const EvolutionSettings& s) {
  return {{"seed", s.seed},
          {"islands", s.islands},
          {"batch", s.batch},
          {"members", s.members},
          {"tournament", s.tournament},
          {"elite_share", s.elite_share},
          {"crossover", s.crossover},
          {"migrate_every", s.migrate_every},
          {"failures_shown", s.failures_shown}};
}

Result<EvolutionSettings> SettingsFromJson(const json& from) {
  EvolutionSettings settings;
  bool complete = from.is_object();
  const auto read = [&](const char* name, auto& value) {
    const bool found = complete && from.contains(name) && from[name].is_number();
    complete = found;
    if (found) value = from[name].get<std::remove_reference_t<decltype(value)>>();
  };
  read("seed", settings.seed);
  read("islands", settings.islands);
  read("batch", settings.batch);
  read("members", settings.members);
  read("tournament", settings.tournament);
  read("elite_share", settings.elite_share);
  read("crossover", settings.crossover);
  read("migrate_every", settings.migrate_every);
  read("failures_shown", settings.failures_shown);
  if (!complete) return InvalidInput("the run's settings in the archive are not complete");
  KS_RETURN_IF_ERROR(Check(settings));
  return settings;
}

Status Check(const EvolutionSettings& settings) {
  const auto positive = [](const char* name, int value) -> Status {
    if (value >= 1) return {};
    return InvalidInput(fmt::format("{} of an evolution must be at least 1, not {}", name, value));
  };
  KS_RETURN_IF_ERROR(positive("islands", settings.islands));
  KS_RETURN_IF_ERROR(positive("batch", settings.batch));
  KS_RETURN_IF_ERROR(positive("members", settings.members));
  KS_RETURN_IF_ERROR(positive("tournament", settings.tournament));
  const auto share = [](const char* name, double value) -> Status {
    if (value >= 0 && value <= 1) return {};
    return InvalidInput(fmt::format("{} of an evolution must be from 0 to 1, not {}", name, value));
  };
  KS_RETURN_IF_ERROR(share("elite_share", settings.elite_share));
  KS_RETURN_IF_ERROR(share("crossover", settings.crossover));
  if (settings.migrate_every < 0 || settings.failures_shown < 0) {
    return InvalidInput("migrate_every and failures_shown of an evolution can't be negative");
  }
  return {};
}

}  // namespace kernelsmith
