// The numbers of an evolution. All but budget and jobs decide its course, so that a resumed run
// takes them from the archive.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "support/result.h"

namespace kernelsmith {

struct EvolutionBudget {
  int64_t candidates = 60;  // proposals, also those that come to nothing; 0: no limit
  double seconds = 0;       // the time of all sessions; 0: no limit
  double dollars = 0;       // 0: no limit
};

struct EvolutionSettings {
  uint64_t seed = 1;
  int islands =
      2;  // populations that mix only by migration, so that one good idea does not end all others
  int batch = 8;  // candidates of a generation: proposed from the same state, so that they can be
                  // evaluated in parallel
  int members = 12;          // candidates that an island keeps
  int tournament = 3;        // drawn for each parent, the fastest is taken
  double elite_share = 0.3;  // how often parents come from the archive of elites instead
  double crossover = 0.25;   // share of proposals with two parents where the proposer can
  int migrate_every = 4;     // generations; 0: never
  int failures_shown = 3;    // how many failures a proposer is shown
};

nlohmann::json ToJson(const EvolutionBudget& budget);
nlohmann::json ToJson(const EvolutionSettings& settings);
Result<EvolutionSettings> SettingsFromJson(const nlohmann::json& json);
// Errors name the setting.
Status Check(const EvolutionSettings& settings);

}  // namespace kernelsmith
