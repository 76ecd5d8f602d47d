// Which proposer is worth asking next.
#pragma once

#include <cstddef>
#include <vector>

namespace kernelsmith {

// UCB1 (Auer, Cesa-Bianchi and Fischer, 2002): the highest mean reward plus a bonus for what was
// asked seldom; no randomness. Rewards are in [0, 1].
class Bandit {
 public:
  explicit Bandit(size_t arms) : arms_(arms) {}
  // The arm to ask among those allowed; ties go to the first. At least one must be allowed.
  size_t Choose(const std::vector<bool>& allowed) const;
  // Asked, answer not known yet: counts as asked for nothing, so that a batch does not go to one
  // arm alone.
  void Begin(size_t arm) { ++arms_[arm].asked; }
  // The answer to one Begin.
  void Reward(size_t arm, double reward) { arms_[arm].reward += reward; }

  int asked(size_t arm) const { return arms_[arm].asked; }
  double mean(size_t arm) const {
    return arms_[arm].asked == 0 ? 0 : arms_[arm].reward / arms_[arm].asked;
  }

 private:
  struct Arm {
    int asked = 0;
    double reward = 0;
  };
  std::vector<Arm> arms_;
};

}  // namespace kernelsmith
