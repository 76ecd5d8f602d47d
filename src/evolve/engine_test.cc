#include "evolve/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evolve/testing/toy.h"

namespace kernelsmith {
namespace {

using ::testing::HasSubstr;

EvolutionReport Evolve(Toy& toy, std::vector<Proposer*> proposers, uint64_t seed,
                       int64_t candidates, int jobs = 1,
                       const std::vector<std::string>& initial = {}) {
  auto evolution = Evolution::Start(toy.Parts(std::move(proposers)), {"bits", "forward", "float32"},
                                    {.seed = seed}, {.candidates = candidates}, initial);
  EXPECT_TRUE(evolution.ok());
  auto report = (*evolution)->Run(jobs);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message());
  return *report;
}

TEST(Evolution, SameSeedSameCourseWithAnyNumberOfThreads) {
  Toy toy("threads", std::chrono::microseconds(300));
  const EvolutionReport one = Evolve(toy, {&toy.random, &toy.mutate}, 5, 60, 1);
  const EvolutionReport four = Evolve(toy, {&toy.random, &toy.mutate}, 5, 60, 4);
  const EvolutionReport other = Evolve(toy, {&toy.random, &toy.mutate}, 6, 60, 4);
  EXPECT_EQ(one.fingerprint, four.fingerprint);
  EXPECT_NE(one.fingerprint, other.fingerprint);
  EXPECT_EQ(one.best->source, four.best->source);
  EXPECT_EQ(one.candidates, 60);
  EXPECT_EQ(one.ended_by, "candidates");
  EXPECT_EQ(toy.archive->GetRun(one.run)->state, "finished");
}

TEST(Evolution, BooksWhatProposalsWithoutASourceCost) {
  Toy toy("empty");
  Empty empty;
  const EvolutionReport report = Evolve(toy, {&empty}, 1, 4);
  EXPECT_NEAR(report.dollars, 1.0, 1e-12);
  EXPECT_EQ(report.verdicts.at("none"), 4);
  EXPECT_EQ(toy.archive->List({.run = report.run})->front().reason, "no code");
}

TEST(Evolution, BeatsRandomSearchAtEqualBudget) {
  Toy toy("beats");
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const EvolutionReport evolved = Evolve(toy, {&toy.random, &toy.mutate}, seed, 120);
    const EvolutionReport random = Evolve(toy, {&toy.random}, seed, 120);
    EXPECT_LT(*evolved.best->time_ns, *random.best->time_ns) << "seed " << seed;
    // The bandit has seen who is better.
    EXPECT_GT(evolved.proposers[1].asked, evolved.proposers[0].asked);
  }
}

TEST(Evolution, TakesTheSameDeviceCodeOnlyOnce) {
  Toy toy("novelty");
  const std::string source = "1" + std::string(kBits - 1, '0');
  std::string comment = source;
  comment.back() = '1';
  const EvolutionReport report =
      Evolve(toy, {&toy.mutate}, 1, 3, 2, {source, comment, std::string(3, '1')});
  const auto all = toy.archive->List({.run = report.run, .order = ArchiveFilter::Order::kNumber});
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[0].verdict, "verified");
  EXPECT_EQ((*all)[1].verdict, "rejected");
  EXPECT_EQ((*all)[1].stage, "novelty");
  EXPECT_EQ((*all)[1].reason, "same device code as candidate 0");
  EXPECT_EQ((*all)[2].stage, "compile");
  EXPECT_EQ((*all)[2].reason, "wrong length");
}

TEST(Evolution, WhatTheLastStageShowsSparesThoseBehind) {
  Toy toy("spares");
  auto evolution = Evolution::Start(toy.Parts({&toy.random}), {"bits"}, {.seed = 5, .batch = 40},
                                    {.candidates = 40}, {});
  ASSERT_TRUE((*evolution)->Run(2).ok());
  // One generation: when it began nothing was known that anything could be slow beside.
  const auto all = toy.archive->List({.order = ArchiveFilter::Order::kNumber});
  ASSERT_EQ(all->size(), 40u);
  std::optional<double> best;
  int spared = 0;
  for (const ArchivedCandidate& each : *all) {
    if (each.reason == "slow") {
      ++spared;
      ASSERT_TRUE(best.has_value());
      EXPECT_GT(*each.time_ns, 1.25 * *best);
      EXPECT_EQ(each.stage, "estimate");
    } else if (each.verified()) {
      best = std::min(best.value_or(*each.time_ns), *each.time_ns);
    }
  }
  EXPECT_GT(spared, 0);
}

TEST(Evolution, AllIslandsBeginWithTheInitialSource) {
  Toy toy("initial");
  const EvolutionReport report =
      Evolve(toy, {&toy.mutate}, 1, 9, 1, {"1" + std::string(kBits - 1, '0')});
  const auto all = toy.archive->List({.run = report.run, .order = ArchiveFilter::Order::kNumber});
  for (size_t i = 1; i < all->size(); ++i) {
    EXPECT_EQ((*all)[i].parents, std::vector<int64_t>{(*all)[0].id});
    EXPECT_EQ((*all)[i].generation, 1);
  }
}

TEST(Evolution, KeepsProposalsThatCameToNothing) {
  Toy toy("silent");
  const EvolutionReport report = Evolve(toy, {&toy.silent, &toy.random}, 1, 40);
  EXPECT_GT(report.verdicts.at("none"), 0);
  EXPECT_GT(report.proposers[1].asked, report.proposers[0].asked);
  const auto none = toy.archive->List({.verdict = "none"});
  EXPECT_EQ(none->front().reason, "no idea");
  EXPECT_EQ(none->front().stage, "propose");
}

TEST(Evolution, EndsWhereNobodyCanBegin) {
  Toy toy("nobody");
  EXPECT_EQ(Evolve(toy, {&toy.mutate}, 1, 20).ended_by, "no parents");
}

TEST(Evolution, MoneyAndTimeEndIt) {
  Toy toy("money");
  const std::vector<std::string> initial = {"1" + std::string(kBits - 1, '0')};
  auto poor = Evolution::Start(toy.Parts({&toy.mutate}), {"bits"}, {},
                               {.candidates = 100, .dollars = 2.0}, initial);
  auto report = (*poor)->Run(1);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->ended_by, "dollars");
  EXPECT_EQ(report->dollars, 2.0);
  EXPECT_EQ(report->candidates, 5);  // the initial one is free
  auto late = Evolution::Start(toy.Parts({&toy.mutate}), {"bits"}, {},
                               {.candidates = 100, .seconds = 60}, initial);
  report = (*late)->Run(
      1, [&](const ArchivedCandidate& candidate) { toy.clock.Advance(std::chrono::seconds(7)); });
  EXPECT_EQ(report->ended_by, "seconds");
  EXPECT_GE(report->candidates, 9);
  EXPECT_LT(report->candidates, 20);
  EXPECT_EQ(toy.archive->GetRun(report->run)->seconds, report->seconds);
}

TEST(Evolution, RefusesSettingsThatMakeNoSense) {
  Toy toy("settings");
  const auto error = [&](const EvolutionSettings& settings) {
    const auto evolution = Evolution::Start(toy.Parts(), {"bits"}, settings, {}, {});
    return evolution.ok() ? "started" : evolution.error().message();
  };
  EXPECT_THAT(error({.islands = 0}), HasSubstr("islands"));
  EXPECT_THAT(error({.batch = -1}), HasSubstr("batch"));
  EXPECT_THAT(error({.crossover = 2}), HasSubstr("crossover"));
  const auto twins = Evolution::Start(toy.Parts({&toy.random, &toy.random}), {"bits"}, {}, {}, {});
  EXPECT_THAT(twins.error().message(), HasSubstr("different names"));
}

// Can't do its work the first time it is asked for the third candidate.
class BreaksOnce : public Stage {
 public:
  std::string name() const override { return "breaks"; }
  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>&,
                   const Standing&) override {
    if (*candidate.number != 2 || broke_) return StageOutcome::Pass();
    broke_ = true;
    return StageOutcome::Broken(MissingTool("the disk is on fire"));
  }

 private:
  bool broke_ = false;
};

TEST(Evolution, AStageThatBreaksEndsTheRunAndCostsNoCandidate) {
  Toy toy("breaks");
  const EvolutionReport whole = Evolve(toy, {&toy.random, &toy.mutate}, 5, 12);
  toy.cascade.insert(toy.cascade.begin() + 1, std::make_unique<BreaksOnce>());
  auto evolution = Evolution::Start(toy.Parts(), {"bits", "forward", "float32"}, {.seed = 5},
                                    {.candidates = 12}, {});
  ASSERT_TRUE(evolution.ok());
  const auto broken = (*evolution)->Run(2);
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message(), HasSubstr("on fire"));
  const int64_t run = (*evolution)->run();
  for (const auto& each : *toy.archive->List({.run = run})) EXPECT_NE(each.number, 2);
  auto resumed = Evolution::Resume(toy.Parts(), run, {.candidates = 12});
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ((*resumed)->Run(1)->fingerprint, whole.fingerprint);
}

}  // namespace
}  // namespace kernelsmith
