#include "evolve/population.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace kernelsmith {
namespace {

using ::testing::ElementsAre;

class PopulationTest : public testing::Test {
 protected:
  const ArchivedCandidate& Make(double ns, int64_t island, const std::string& cell) {
    ArchivedCandidate& candidate = all_.emplace_back();
    candidate.number = static_cast<int64_t>(all_.size()) - 1;
    candidate.island = island;
    candidate.verdict = "verified";
    candidate.time_ns = ns;
    candidate.cell = cell;
    return candidate;
  }
  std::vector<double> Times(const Population& population, int island) const {
    std::vector<double> times;
    for (const ArchivedCandidate* member : population.members(island)) {
      times.push_back(*member->time_ns);
    }
    return times;
  }
  std::deque<ArchivedCandidate> all_;
};

TEST_F(PopulationTest, KeepsTheFastestAndTheElitesOfEachCell) {
  Population population({.islands = 2, .members = 2});
  EXPECT_EQ(population.Admit(Make(30, 0, "dram")), Success::kBest);
  EXPECT_EQ(population.Admit(Make(40, 0, "issue")), Success::kNewElite);
  EXPECT_FALSE(population.WorstKept(1).has_value());
  EXPECT_EQ(population.WorstKept(0), 40);
  EXPECT_EQ(population.Admit(Make(50, 0, "issue")), Success::kVerified);
  EXPECT_EQ(population.Admit(Make(20, 0, "dram")), Success::kBest);
  EXPECT_EQ(population.Admit(Make(25, 1, "dram")), Success::kIslandBest);
  EXPECT_THAT(Times(population, 0), ElementsAre(20, 30));
  // Pushed out of the members, but still the best of its kind.
  EXPECT_EQ(*population.elites(0).at("issue")->time_ns, 40);
  EXPECT_EQ(*population.best()->time_ns, 20);
}

TEST_F(PopulationTest, TakesNobodyWithoutAVerdictOrATime) {
  Population population({});
  ArchivedCandidate candidate = Make(1, 0, "");
  candidate.verdict = "inconclusive";
  EXPECT_EQ(population.Admit(candidate), Success::kFailed);
  candidate.verdict = "verified";
  candidate.time_ns.reset();
  EXPECT_EQ(population.Admit(candidate), Success::kFailed);
  EXPECT_EQ(population.best(), nullptr);
}

TEST_F(PopulationTest, MigratesTheBestToTheNextIsland) {
  Population population({.islands = 3, .members = 4});
  population.Admit(Make(10, 0, ""));
  population.Admit(Make(20, 1, ""));
  population.Migrate();
  EXPECT_THAT(Times(population, 0), ElementsAre(10));
  EXPECT_THAT(Times(population, 1), ElementsAre(10, 20));
  EXPECT_THAT(Times(population, 2), ElementsAre(20));
  population.Migrate();  // the traveller is there already
  EXPECT_THAT(Times(population, 1), ElementsAre(10, 20));
}

TEST_F(PopulationTest, PrefersFastParentsAndOrdersThemSlowToFast) {
  Population population({.islands = 1, .members = 10, .tournament = 3, .elite_share = 0});
  for (int i = 1; i <= 10; ++i) population.Admit(Make(i, 0, ""));
  Rng rng(5);
  int fast = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto parents = population.SelectParents(0, 2, rng);
    ASSERT_EQ(parents.size(), 2u);
    EXPECT_GT(*parents[0]->time_ns, *parents[1]->time_ns);
    fast += *population.SelectParents(0, 1, rng)[0]->time_ns <= 3 ? 1 : 0;
  }
  // The fastest of three draws out of ten is among the first three with 1 - 0.7^3 = 0.657.
  EXPECT_NEAR(fast, 657, 60);
}

TEST_F(PopulationTest, GivesAsManyParentsAsThereAre) {
  Population population({.islands = 2});
  Rng rng(5);
  EXPECT_TRUE(population.SelectParents(0, 2, rng).empty());
  population.Admit(Make(1, kEverywhere, ""));
  EXPECT_EQ(population.SelectParents(0, 2, rng).size(), 1u);
  EXPECT_EQ(population.SelectParents(1, 2, rng).size(), 1u);
}

}  // namespace
}  // namespace kernelsmith
