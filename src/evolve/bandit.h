// Which proposer is worth asking next.
#pragma once

#include <cstddef>
#include <vector>

namespace kernelsmith {

// Discounted UCB (Garivier and Moulines, 2011): the highest mean reward plus a bonus for what was
// asked seldom, where the past fades: whoever found the first good candidates, when everything was
// new, is not the one to ask later. No randomness. Rewards are in [0, 1].
class Bandit {
 public:
  explicit Bandit(size_t arms) : arms_(arms) {}
  // The arm to ask among those allowed; ties go to the first. At least one must be allowed.
  size_t Choose(const std::vector<bool>& allowed) const;
  // Asked, answer not known yet: less of a bonus, so that a batch does not go to one arm alone.
  void Begin(size_t arm) {
    ++arms_[arm].asked;
    ++arms_[arm].open;
  }
  // The answer to one Begin.
  void Reward(size_t arm, double reward);

  int asked(size_t arm) const { return arms_[arm].asked; }
  double mean(size_t arm) const {
    return arms_[arm].weight == 0 ? 0 : arms_[arm].reward / arms_[arm].weight;
  }

 private:
  struct Arm {
    int asked = 0;
    int open = 0;       // those of them that have no answer yet
    double weight = 0;  // the weight of its answers, which fades with time
    double reward = 0;  // the sum of its rewards, which fades in the same way
  };
  std::vector<Arm> arms_;
};

}  // namespace kernelsmith
