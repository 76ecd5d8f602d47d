// A run that was stopped or killed goes on to the very state that it would have come to
// undisturbed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evolve/engine.h"
#include "evolve/testing/toy.h"

namespace kernelsmith {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kCandidates = 60;

std::string Undisturbed() {
  Toy toy("undisturbed");
  auto evolution =
      Evolution::Start(toy.Parts(), {"bits"}, {.seed = 11}, {.candidates = kCandidates}, {});
  return (*evolution)->Run(1)->fingerprint;
}

TEST(EvolutionResume, AfterStopAnywhere) {
  const std::string wanted = Undisturbed();
  for (const int64_t at : {1, 7, 8, 9, 30, 57}) {
    Toy toy("stop");
    auto evolution =
        Evolution::Start(toy.Parts(), {"bits"}, {.seed = 11}, {.candidates = kCandidates}, {});
    const int64_t run = (*evolution)->run();
    int64_t heard = 0;
    auto report = (*evolution)->Run(2, [&](const ArchivedCandidate&) {
      if (++heard == at) (*evolution)->Stop();
    });
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->ended_by, "stopped");
    EXPECT_GE(report->candidates, at);
    EXPECT_LT(report->candidates, kCandidates);
    EXPECT_EQ(toy.archive->GetRun(run)->state, "stopped");
    toy.Open();
    auto resumed = Evolution::Resume(toy.Parts(), run, {.candidates = kCandidates});
    ASSERT_TRUE(resumed.ok());
    report = (*resumed)->Run(2);
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_EQ(report->fingerprint, wanted) << "stopped at " << at;
  }
}

TEST(EvolutionResume, WithABiggerBudgetInTheMiddleOfAGeneration) {
  Toy toy("bigger");
  auto evolution = Evolution::Start(toy.Parts(), {"bits"}, {.seed = 11}, {.candidates = 21}, {});
  auto report = (*evolution)->Run(1);
  EXPECT_EQ(report->candidates, 21);
  auto resumed = Evolution::Resume(toy.Parts(), report->run, {.candidates = kCandidates});
  report = (*resumed)->Run(1);
  EXPECT_EQ(report->candidates, kCandidates);
  EXPECT_EQ(report->fingerprint, Undisturbed());
}

TEST(EvolutionResume, AfterKill) {
  const std::string wanted = Undisturbed();
  Toy toy("kill", std::chrono::microseconds(500));
  toy.archive.reset();  // a SQLite connection must not go through fork
  int64_t run = 0;
  size_t before = 0;
  int kills = 0;
  for (int round = 0; round < 8 && before < kCandidates - 10; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      toy.Open();
      auto evolution = run == 0 ? Evolution::Start(toy.Parts(), {"bits"}, {.seed = 11},
                                                   {.candidates = kCandidates}, {})
                                : Evolution::Resume(toy.Parts(), run, {.candidates = kCandidates});
      if (!evolution.ok()) ::_exit(1);
      (void)(*evolution)->Run(2, [&](const ArchivedCandidate& candidate) {
        const int64_t number = *candidate.number;
        if (::write(pipe_ends[1], &number, sizeof number) != sizeof number) ::_exit(2);
      });
      ::_exit(3);
    }
    ::close(pipe_ends[1]);
    run = 1;
    std::vector<int64_t> heard;
    int64_t number = 0;
    const size_t patience = 5 + static_cast<size_t>(round) % 3;
    while (heard.size() < patience &&
           ::read(pipe_ends[0], &number, sizeof number) == sizeof number) {
      heard.push_back(number);
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "ended by itself with " << WEXITSTATUS(status);
    ++kills;
    while (::read(pipe_ends[0], &number, sizeof number) == sizeof number) heard.push_back(number);
    ::close(pipe_ends[0]);
    toy.Open();
    EXPECT_EQ(*toy.archive->IntegrityCheck(), "ok");
    const auto all = toy.archive->List({.run = run, .order = ArchiveFilter::Order::kNumber});
    std::set<int64_t> kept;
    for (const ArchivedCandidate& candidate : *all) kept.insert(*candidate.number);
    for (const int64_t each : heard) EXPECT_TRUE(kept.contains(each)) << "lost " << each;
    EXPECT_GE(kept.size(), before + heard.size());
    before = kept.size();
    toy.archive.reset();
  }
  EXPECT_GE(kills, 3);
  toy.Open();
  auto resumed = Evolution::Resume(toy.Parts(), run, {.candidates = kCandidates});
  ASSERT_TRUE(resumed.ok()) << resumed.error().message();
  const auto report = (*resumed)->Run(2);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->fingerprint, wanted);
}

TEST(EvolutionResume, RefusesOtherProposersAndUnknownRuns) {
  Toy toy("other");
  auto evolution = Evolution::Start(toy.Parts(), {"bits"}, {}, {.candidates = 8}, {});
  ASSERT_TRUE((*evolution)->Run(1).ok());
  EXPECT_THAT(Evolution::Resume(toy.Parts({&toy.random}), 1, {}).error().message(),
              HasSubstr("proposers"));
  EXPECT_THAT(Evolution::Resume(toy.Parts(), 9, {}).error().message(), HasSubstr("no run 9"));
  const int64_t empty = *toy.archive->AddRun({.task = "bits"});
  EXPECT_THAT(Evolution::Resume(toy.Parts(), empty, {}).error().message(),
              HasSubstr("no evolution"));
}

TEST(EvolutionResume, TwoAtATimeIsAnError) {
  Toy toy("two");
  auto first = Evolution::Start(toy.Parts(), {"bits"}, {}, {.candidates = 16}, {});
  auto second = Evolution::Resume(toy.Parts(), (*first)->run(), {.candidates = 16});
  ASSERT_TRUE((*first)->Run(1).ok());
  const auto report = (*second)->Run(1);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message(), HasSubstr("another process"));
}

}  // namespace
}  // namespace kernelsmith
