#include "evolve/population.h"

#include <algorithm>

#include "support/check.h"

namespace kernelsmith {
namespace {

// Among equal times the older one is kept: a change that brings nothing does not push out what was
// there.
bool Faster(const ArchivedCandidate* a, const ArchivedCandidate* b) {
  return *a->time_ns < *b->time_ns;
}

}  // namespace

Success Population::Join(Island& island, const ArchivedCandidate& candidate) {
  Success success = Success::kVerified;
  const ArchivedCandidate*& elite = island.elites[candidate.cell];
  if (elite == nullptr || Faster(&candidate, elite)) {
    elite = &candidate;
    success = Success::kNewElite;
  }
  std::vector<const ArchivedCandidate*>& members = island.members;
  // A migrant may be there already.
  if (std::find(members.begin(), members.end(), &candidate) != members.end()) return success;
  const auto place = std::upper_bound(members.begin(), members.end(), &candidate, Faster);
  if (place == members.begin()) success = Success::kIslandBest;
  members.insert(place, &candidate);
  if (members.size() > static_cast<size_t>(settings_.members)) members.pop_back();
  return success;
}

Success Population::Admit(const ArchivedCandidate& candidate) {
  if (!candidate.verified() || !candidate.time_ns) return Success::kFailed;
  Success success = Success::kFailed;
  for (size_t i = 0; i < islands_.size(); ++i) {
    if (candidate.island != kEverywhere && candidate.island != static_cast<int64_t>(i)) continue;
    success = std::max(success, Join(islands_[i], candidate));
  }
  if (best_ == nullptr || Faster(&candidate, best_)) {
    best_ = &candidate;
    return Success::kBest;
  }
  return success;
}

void Population::Migrate() {
  std::vector<const ArchivedCandidate*> travellers;
  for (const Island& island : islands_) {
    travellers.push_back(island.members.empty() ? nullptr : island.members.front());
  }
  for (size_t i = 0; i < islands_.size(); ++i) {
    if (travellers[i] != nullptr) Join(islands_[(i + 1) % islands_.size()], *travellers[i]);
  }
}

std::vector<const ArchivedCandidate*> Population::SelectParents(int island_index, int count,
                                                                Rng& rng) const {
  const Island& island = islands_[island_index];
  std::vector<const ArchivedCandidate*> chosen;
  if (island.members.empty()) return chosen;
  // A parent that was drawn already is drawn again, a few times: small islands may not have enough.
  for (int attempt = 0; attempt < 8 * count && static_cast<int>(chosen.size()) < count; ++attempt) {
    const ArchivedCandidate* parent = nullptr;
    if (rng.Uniform() < settings_.elite_share) {
      auto elite = island.elites.begin();
      std::advance(elite, rng.Below(island.elites.size()));
      parent = elite->second;
    } else {
      uint64_t rank = island.members.size();  // members are in order: the lowest rank wins
      for (int i = 0; i < settings_.tournament; ++i) {
        rank = std::min(rank, rng.Below(island.members.size()));
      }
      parent = island.members[rank];
    }
    if (std::find(chosen.begin(), chosen.end(), parent) == chosen.end()) chosen.push_back(parent);
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const ArchivedCandidate* a, const ArchivedCandidate* b) {
              return *a->time_ns != *b->time_ns ? Faster(b, a) : a->number < b->number;
            });
  return chosen;
}

std::optional<double> Population::WorstKept(int island) const {
  const std::vector<const ArchivedCandidate*>& members = islands_[island].members;
  if (members.size() < static_cast<size_t>(settings_.members)) return std::nullopt;
  return members.back()->time_ns;
}

}  // namespace kernelsmith
