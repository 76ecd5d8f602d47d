#include "evolve/bandit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/check.h"

namespace kernelsmith {
namespace {

// The weight of the bonus. Theory wants 1 for rewards that fill [0, 1]; those of a search are
// mostly 0 to 0.3, and with 1 a run of sixty candidates would ask good and bad arms alike.
constexpr double kExploration = 0.25;
// What an answer weighs one answer later: the last twenty or so count. The first finds, when
// everything is new, tell little about who makes the next.
constexpr double kFade = 0.95;

}  // namespace

void Bandit::Reward(size_t arm, double reward) {
  for (Arm& each : arms_) {
    each.weight *= kFade;
    each.reward *= kFade;
  }
  --arms_[arm].open;
  arms_[arm].weight += 1;
  arms_[arm].reward += reward;
}

size_t Bandit::Choose(const std::vector<bool>& allowed) const {
  KS_CHECK(allowed.size() == arms_.size());
  double total = 0;
  for (const Arm& arm : arms_) total += arm.weight + arm.open;
  size_t best = arms_.size();
  double best_score = -1;
  for (size_t i = 0; i < arms_.size(); ++i) {
    if (!allowed[i]) continue;
    double score = std::numeric_limits<double>::infinity();
    if (arms_[i].asked > 0) {
      const double own = arms_[i].weight + arms_[i].open;
      const double bonus = std::sqrt(2 * std::log(std::max(total, 1.0)) / own);
      score = mean(i) + kExploration * bonus;
    }
    if (score > best_score) {
      best = i;
      best_score = score;
    }
  }
  KS_CHECK(best < arms_.size(), "no arm is allowed");
  return best;
}

}  // namespace kernelsmith
