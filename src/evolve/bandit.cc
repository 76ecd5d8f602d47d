#include "evolve/bandit.h"

#include <cmath>
#include <limits>

#include "support/check.h"

namespace kernelsmith {

size_t Bandit::Choose(const std::vector<bool>& allowed) const {
  KS_CHECK(allowed.size() == arms_.size());
  int total = 0;
  for (const Arm& arm : arms_) total += arm.asked;
  size_t best = arms_.size();
  double best_score = -1;
  for (size_t i = 0; i < arms_.size(); ++i) {
    if (!allowed[i]) continue;
    const double score = arms_[i].asked == 0
                             ? std::numeric_limits<double>::infinity()
                             : mean(i) + std::sqrt(2 * std::log(total) / arms_[i].asked);
    if (score > best_score) {
      best = i;
      best_score = score;
    }
  }
  KS_CHECK(best < arms_.size(), "no arm is allowed");
  return best;
}

}  // namespace kernelsmith
