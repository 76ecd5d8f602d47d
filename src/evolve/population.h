// The living: islands of verified candidates, each with an archive of elites.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "evolve/settings.h"
#include "support/rng.h"

namespace kernelsmith {

// How well a candidate did, from nothing to the best of all: what its proposer is rewarded by.
enum class Success { kFailed, kVerified, kNewElite, kIslandBest, kBest };

// The island of candidates that all islands begin with.
inline constexpr int64_t kEverywhere = -1;

class Population {
 public:
  explicit Population(const EvolutionSettings& settings)
      : settings_(settings), islands_(settings.islands) {}

  // A verified candidate with a time takes its place on its island, if it earns one. The caller
  // keeps the candidate alive.
  Success Admit(const ArchivedCandidate& candidate);
  // The best of each island joins the next one.
  void Migrate();

  // `count` different parents (fewer if there are not so many), slowest first: each the winner of a
  // tournament among members, or an elite of a cell drawn at random: what is best of its kind
  // though not the fastest.
  std::vector<const ArchivedCandidate*> SelectParents(int island, int count, Rng& rng) const;

  const ArchivedCandidate* best() const { return best_; }
  std::optional<double> WorstKept(int island) const;
  const std::vector<const ArchivedCandidate*>& members(int island) const {
    return islands_[island].members;
  }
  const std::map<std::string, const ArchivedCandidate*>& elites(int island) const {
    return islands_[island].elites;
  }

 private:
  struct Island {
    std::vector<const ArchivedCandidate*> members;           // fastest first
    std::map<std::string, const ArchivedCandidate*> elites;  // the fastest of each cell
  };
  Success Join(Island& island, const ArchivedCandidate& candidate);

  EvolutionSettings settings_;
  std::vector<Island> islands_;
  const ArchivedCandidate* best_ = nullptr;
};

}  // namespace kernelsmith
