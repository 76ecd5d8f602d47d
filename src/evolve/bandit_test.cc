#include "evolve/bandit.h"

#include <gtest/gtest.h>

#include "support/rng.h"

namespace kernelsmith {
namespace {

TEST(Bandit, AsksEverybodyOnceThenTheBetter) {
  Bandit bandit(3);
  const std::vector<bool> all(3, true);
  for (size_t arm = 0; arm < 3; ++arm) {
    EXPECT_EQ(bandit.Choose(all), arm);
    bandit.Begin(arm);
    bandit.Reward(arm, arm == 1 ? 1 : 0);
  }
  EXPECT_EQ(bandit.Choose(all), 1u);
  EXPECT_EQ(bandit.Choose({true, false, true}), 0u);
}

TEST(Bandit, SpreadsABatchWhoseAnswersAreNotKnown) {
  Bandit bandit(2);
  std::vector<int> asked(2);
  for (int i = 0; i < 8; ++i) {
    const size_t arm = bandit.Choose({true, true});
    bandit.Begin(arm);
    ++asked[arm];
  }
  EXPECT_EQ(asked[0], 4);
  EXPECT_EQ(asked[1], 4);
}

TEST(Bandit, FindsTheArmThatPays) {
  Rng rng(3);
  Bandit bandit(3);
  const double chance[] = {0.1, 0.2, 0.7};
  for (int i = 0; i < 1000; ++i) {
    const size_t arm = bandit.Choose({true, true, true});
    bandit.Begin(arm);
    bandit.Reward(arm, rng.Uniform() < chance[arm] ? 1 : 0);
  }
  EXPECT_GT(bandit.asked(2), 700);
  EXPECT_GT(bandit.asked(0), 10);  // it never stops looking
}

TEST(Bandit, WhoPaidLongAgoIsNotAskedForever) {
  Bandit bandit(2);
  for (int i = 0; i < 20; ++i) {
    bandit.Begin(0);
    bandit.Reward(0, 1);
  }
  int asked = 0;
  for (int i = 0; i < 200; ++i) {
    const size_t arm = bandit.Choose({true, true});
    bandit.Begin(arm);
    bandit.Reward(arm, arm == 1 ? 0.3 : 0);
    if (i >= 100) asked += arm == 1 ? 1 : 0;
  }
  EXPECT_GT(asked, 80);
}

}  // namespace
}  // namespace kernelsmith
