#include "evolve/bandit.h"

#include <cmath>
#include <limits>

#include "support/check.h"

namespace kernelsmith {
namespace {

// Of UCB1's bonus. Its proof wants 1 for rewards that fill [0, 1]; those of a search are mostly 0
// to 0.3, and with 1 a run of sixty candidates would ask good and bad arms alike.
constexpr double kExploration = 0.35;

}  // namespace

size_t Bandit::Choose(const std::vector<bool>& allowed) const {
  KS_CHECK(allowed.size() == arms_.size());
  int total = 0;
  for (const Arm& arm : arms_) total += arm.asked;
  size_t best = arms_.size();
  double best_score = -1;
  for (size_t i = 0; i < arms_.size(); ++i) {
    if (!allowed[i]) continue;
    const double score =
        arms_[i].asked == 0
            ? std::numeric_limits<double>::infinity()
            : mean(i) + kExploration * std::sqrt(2 * std::log(total) / arms_[i].asked);
    if (score > best_score) {
      best = i;
      best_score = score;
    }
  }
  KS_CHECK(best < arms_.size(), "no arm is allowed");
  return best;
}

}  // namespace kernelsmith
