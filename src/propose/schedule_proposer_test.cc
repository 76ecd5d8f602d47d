#include "propose/schedule_proposer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/hash.h"

namespace kernelsmith {
namespace {

using codegen::Gene;
using codegen::Schedule;
using ::testing::HasSubstr;

// Two kernels; fused, the second has no genes of its own.
ScheduleSpace TwoKernels() {
  const auto genes = [](const Schedule& schedule) {
    std::vector<Gene> all;
    const auto add = [&](const std::string& name, std::vector<int64_t> values, int64_t usual,
                         const char* kernel = "") {
      int64_t value = schedule.Get(name, usual);
      if (std::find(values.begin(), values.end(), value) == values.end()) value = usual;
      all.push_back({name, std::move(values), value, kernel});
      return value;
    };
    add("sum_.threads", {32, 64, 128, 256}, 128, "Sum");
    add("sum_.items", {1, 2, 4}, 1, "Sum");
    if (add("scale_.fuse", {0, 1}, 1) == 0) add("scale_.threads", {32, 64, 128, 256}, 256, "Scale");
    return all;
  };
  const auto emit = [genes](const Schedule& schedule) -> Result<std::string> {
    std::string text;
    for (const Gene& gene : genes(schedule)) text += fmt::format("{}={}\n", gene.name, gene.value);
    return text;
  };
  return {.genes = genes, .emit = emit};
}

ArchivedCandidate Parent(const ScheduleSpace& space, const Schedule& schedule) {
  ArchivedCandidate candidate;
  const Schedule complete = Complete(space, schedule);
  candidate.genes = ToJson(complete);
  candidate.source = *space.emit(complete);
  candidate.time_ns = 1000;
  return candidate;
}

TEST(ScheduleProposer, AScheduleHasAllGenesThatThereAreAndNoOthers) {
  const Schedule fused = Complete(TwoKernels(), {{{"scale_.threads", 64}, {"nonsense", 1}}});
  EXPECT_EQ(fused.genes, (std::map<std::string, int64_t>{
                             {"sum_.threads", 128}, {"sum_.items", 1}, {"scale_.fuse", 1}}));
  const Schedule split = Complete(TwoKernels(), {{{"scale_.fuse", 0}, {"scale_.threads", 64}}});
  EXPECT_EQ(split.genes.at("scale_.threads"), 64);
}

TEST(ScheduleProposer, RandomReachesEverySchedule) {
  RandomScheduleProposer proposer(TwoKernels());
  std::set<std::string> sources;
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) sources.insert(proposer.Propose({}, rng)->source);
  EXPECT_EQ(sources.size(), 4u * 3 * (1 + 4));
}

// All known schedules were fast with 64 threads and slow with others: guided, most draws have 64.
TEST(ScheduleProposer, GuidedDrawsGoWhereTimesAreGood) {
  const ScheduleSpace space = TwoKernels();
  std::vector<ArchivedCandidate> known;
  for (const int64_t threads : {32, 64, 128, 256}) {
    for (const int64_t items : {1, 2, 4}) {
      known.push_back(Parent(space, {{{"sum_.threads", threads}, {"sum_.items", items}}}));
      known.back().time_ns = threads == 64 ? 1000 : 5000;
    }
  }
  std::vector<const ArchivedCandidate*> timed;
  for (const ArchivedCandidate& each : known) timed.push_back(&each);
  const auto good = [&](bool guided) {
    RandomScheduleProposer proposer(space, guided);
    Rng rng(9);
    int count = 0;
    for (int i = 0; i < 200; ++i) {
      const auto proposal = proposer.Propose({.timed = timed}, rng);
      count += proposal->source.find("sum_.threads=64") != std::string::npos;
    }
    return count;
  };
  EXPECT_GT(good(true), 130);
  EXPECT_LT(good(false), 80);
}

TEST(ScheduleProposer, WhatIsKnownIsNotProposedAgain) {
  RandomScheduleProposer proposer(TwoKernels());
  std::set<std::string> known;
  Rng rng(4);
  int proposed = 0;
  while (true) {
    const auto proposal = proposer.Propose({.known_sources = &known}, rng);
    if (!proposal.ok()) {
      EXPECT_THAT(proposal.error().message(), HasSubstr("tried before"));
      break;
    }
    EXPECT_TRUE(known.insert(Sha256(proposal->source)).second);
    ++proposed;
  }
  EXPECT_GT(proposed, 40);
  EXPECT_LE(proposed, 60);
}

TEST(ScheduleProposer, TheSameGeneratorGivesTheSameProposal) {
  const ScheduleSpace space = TwoKernels();
  MutateScheduleProposer proposer(space);
  const ArchivedCandidate a = Parent(space, {});
  const ArchivedCandidate b = Parent(space, {{{"scale_.fuse", 0}}});
  const ArchivedCandidate* parents[] = {&a, &b};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng first(seed);
    Rng second(seed);
    EXPECT_EQ(proposer.Propose({.parents = parents}, first)->source,
              proposer.Propose({.parents = parents}, second)->source);
  }
}

TEST(ScheduleProposer, AMutationChangesFewGenesAndSaysWhich) {
  const ScheduleSpace space = TwoKernels();
  MutateScheduleProposer proposer(space);
  const ArchivedCandidate parent = Parent(space, {});
  const ArchivedCandidate* parents[] = {&parent};
  int single = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const auto proposal = proposer.Propose({.parents = parents}, rng);
    ASSERT_TRUE(proposal.ok());
    EXPECT_NE(proposal->source, parent.source);
    ArchivedCandidate child;
    child.genes = proposal->genes;
    EXPECT_EQ(*space.emit(ScheduleOf(space, child)), proposal->source);
    EXPECT_EQ(proposal->note, Difference(ScheduleOf(space, parent), ScheduleOf(space, child)));
    single += std::count(proposal->note.begin(), proposal->note.end(), ',') == 0 ? 1 : 0;
  }
  EXPECT_GT(single, 60);
}

TEST(ScheduleProposer, KernelsThatTakeLongAreChangedMoreOften) {
  const ScheduleSpace space = TwoKernels();
  MutateScheduleProposer proposer(space);
  ArchivedCandidate parent = Parent(space, {{{"scale_.fuse", 0}}});
  parent.limits = {{{"name", "_ZN12_GLOBAL__N_15ScaleEPKfPfi"}, {"us", 99.0}},
                   {{"name", "_ZN12_GLOBAL__N_13SumEPKfPfi"}, {"us", 1.0}}};
  const ArchivedCandidate* parents[] = {&parent};
  int scale = 0;
  int sum = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const std::string note = proposer.Propose({.parents = parents}, rng)->note;
    scale += note.find("scale_.threads") != std::string::npos ? 1 : 0;
    sum += note.find("sum_.threads") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(scale, 2 * sum);
  EXPECT_GT(sum, 0);
}

TEST(ScheduleProposer, AChildOfTwoHasEachKernelFromOneOfThem) {
  const ScheduleSpace space = TwoKernels();
  MutateScheduleProposer proposer(space);
  const ArchivedCandidate a =
      Parent(space, {{{"sum_.threads", 32}, {"sum_.items", 4}, {"scale_.fuse", 0}}});
  const ArchivedCandidate b =
      Parent(space, {{{"sum_.threads", 256}, {"sum_.items", 2}, {"scale_.fuse", 1}}});
  const ArchivedCandidate* parents[] = {&a, &b};
  int pure = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const auto proposal = proposer.Propose({.parents = parents}, rng);
    ASSERT_TRUE(proposal.ok());
    EXPECT_THAT(proposal->note, HasSubstr("crossed: "));
    const auto genes = proposal->genes["genes"];
    pure += (genes["sum_.threads"] == 32 && genes["sum_.items"] == 4) ||
                    (genes["sum_.threads"] == 256 && genes["sum_.items"] == 2)
                ? 1
                : 0;
  }
  EXPECT_GT(pure, 100);
}

TEST(ScheduleProposer, SaysSoWhereAParentHasNoGenes) {
  const ScheduleSpace space = TwoKernels();
  MutateScheduleProposer proposer(space);
  ArchivedCandidate foreign;
  foreign.source = "written by somebody";
  const ArchivedCandidate own = Parent(space, {});
  const ArchivedCandidate* alone[] = {&foreign};
  const ArchivedCandidate* both[] = {&own, &foreign};
  Rng rng(1);
  EXPECT_THAT(proposer.Propose({.parents = alone}, rng)->note, HasSubstr("has no genes"));
  const std::string note = proposer.Propose({.parents = both}, rng)->note;
  EXPECT_EQ(note.find("crossed"), std::string::npos);
  EXPECT_EQ(note.find("no genes"), std::string::npos);
}

}  // namespace
}  // namespace kernelsmith
