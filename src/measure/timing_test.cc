// The rows about time of docs/loopholes.md, each tried on a fake GPU: the trick works on a careless
// clock, and does not pay here.
#include "measure/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/testing/fake_gpu.h"

namespace kernelsmith {
namespace {

using testing::FakeGpu;
using testing::FakeSubject;

constexpr double kWork = 100e-6;  // that the task takes

class Timing : public ::testing::Test {
 protected:
  TimingReport Take(FakeSubject& candidate, std::vector<TimedSubject*> baselines = {}) {
    const Result<TimingReport> report = TakeTimes(gpu, candidate, baselines, options);
    EXPECT_TRUE(report.ok());
    return *report;
  }
  static std::string Kinds(const TimingReport& report) {
    std::string kinds;
    for (const TimingFinding& each : report.findings) kinds += std::string(Name(each.kind)) + " ";
    return kinds;
  }

  FakeGpu gpu;
  TimingOptions options;
};

TEST_F(Timing, OfAnHonestSubject) {
  FakeSubject honest("honest", [&](FakeSubject& self) {
    gpu.Launch(0, kWork, "input");
    self.Compute();
  });
  FakeSubject eager("eager", [&](FakeSubject& self) {
    gpu.Launch(0, kWork, "input");
    gpu.Launch(0, kWork);
    self.Compute();
  });
  options.floor_seconds = 0.9 * kWork;
  const TimingReport report = Take(honest, {&eager});
  EXPECT_EQ(Kinds(report), "");
  EXPECT_NEAR(report.candidate.seconds, kWork, 1e-9);
  EXPECT_NEAR(*report.Speedup(), 2, 1e-6);
  EXPECT_EQ(report.candidate.samples, options.min_samples);
}

// Row 19.
TEST_F(Timing, OneLaunchForAllCallsGivesStaleResults) {
  uint64_t kept = 0;
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    if (self.calls == 1) {
      gpu.Launch(0, kWork);
      kept = self.data;
    }
    self.result = kept;
  });
  const TimingReport report = Take(cheat);
  EXPECT_EQ(Kinds(report), "wrong_while_timed ");
  EXPECT_LT(gpu.by_default_stream(), 0.1 * kWork);
  EXPECT_FALSE(report.Speedup());
}

// Rows 16 and 19: results kept by a fingerprint of the data. No data come twice.
TEST_F(Timing, NoInputsComeTwice) {
  std::set<uint64_t> seen;
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    if (seen.insert(self.data).second) gpu.Launch(0, kWork);
    self.Compute();
  });
  EXPECT_NEAR(Take(cheat).candidate.seconds, kWork, 1e-9);
}

// Row 21.
TEST_F(Timing, OtherStreamsAreTimed) {
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    gpu.Launch(7, kWork);
    self.Compute();
  });
  const TimingReport report = Take(cheat);
  EXPECT_EQ(gpu.by_default_stream(), 0);
  EXPECT_NEAR(report.candidate.seconds, kWork, 1e-9);
}

// Row 24: events that say what the candidate wants. The host's clock is ours.
TEST_F(Timing, EventsThatContradictTheHostAreNotBelieved) {
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    gpu.Launch(0, 10 * kWork);
    gpu.PatchEvents(1e-6);
    self.Compute();
  });
  const TimingReport report = Take(cheat);
  EXPECT_EQ(Kinds(report), "hidden_time ");
  EXPECT_NEAR(report.candidate.seconds, 10 * kWork, 1e-9);
}

// Row 24, less bold: nothing contradicts the events but the task itself.
TEST_F(Timing, ATimeBelowTheFloorIsNotBelieved) {
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    gpu.PatchEvents(20e-6);
    gpu.Launch(0, kWork);
    self.Compute();
  });
  options.floor_seconds = 0.5 * kWork;
  const TimingReport report = Take(cheat);
  EXPECT_EQ(Kinds(report), "below_floor ");
  EXPECT_FALSE(report.Speedup());
}

// Row 26.
TEST_F(Timing, SlowFirstCallsDoNotStarveTheSamples) {
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    // As long as the warm-up, and one call longer.
    const bool slow = self.calls <= options.warm_up + 1;
    gpu.Launch(0, slow ? 1000.0 : kWork);
    self.Compute();
  });
  const TimingReport report = Take(cheat);
  EXPECT_GE(report.candidate.samples, options.min_samples);
  EXPECT_NEAR(report.candidate.seconds, kWork, 1e-9);
}

// Row 26: and a mean or a minimum would have been moved by single calls.
TEST_F(Timing, SingleFastCallsDoNotCount) {
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    gpu.Launch(0, self.calls % 8 == 0 ? 1e-6 : kWork);
    self.Compute();
  });
  EXPECT_NEAR(Take(cheat).candidate.seconds, kWork, 1e-9);
}

// Row 27.
TEST_F(Timing, EveryTimedResultIsChecked) {
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    if (self.calls > options.warm_up + options.min_samples - 2) return;
    gpu.Launch(0, kWork);
    self.Compute();
  });
  const TimingReport report = Take(cheat);
  EXPECT_EQ(Kinds(report), "wrong_while_timed ");
  EXPECT_THAT(report.findings[0].message, ::testing::HasSubstr("call 17 after the preparation"));
}

// Row 28.
TEST_F(Timing, NothingStaysInTheCache) {
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    gpu.Launch(0, kWork, "weights");
    gpu.Persist("weights");
    self.Compute();
  });
  EXPECT_NEAR(Take(cheat).candidate.seconds, kWork, 1e-9);
  // The fake's cache is no straw man: a call right after another is five times as fast.
  ASSERT_TRUE(gpu.Begin().ok());
  gpu.Launch(0, kWork, "weights");
  EXPECT_NEAR(gpu.End()->device_seconds, FakeGpu::kHot * kWork, 1e-9);
}

// Row 17: what the first call prepares is told, and is no part of a call.
TEST_F(Timing, PreparationIsShownApart) {
  FakeSubject packed("packed", [&](FakeSubject& self) {
    gpu.Launch(0, kWork);
    self.Compute();
  });
  packed.prepare = [&](FakeSubject&) { gpu.Launch(0, 30 * kWork); };
  const TimingReport report = Take(packed);
  EXPECT_NEAR(report.candidate.seconds, kWork, 1e-9);
  EXPECT_NEAR(report.candidate.preparation_seconds, 30 * kWork, 1e-8);
}

// Row 30: several baselines, and the fastest counts.
TEST_F(Timing, TheFastestBaselineCounts) {
  const auto of = [&](double seconds) {
    return [&, seconds](FakeSubject& self) {
      gpu.Launch(0, seconds);
      self.Compute();
    };
  };
  FakeSubject candidate("candidate", of(kWork));
  FakeSubject weak("eager", of(9 * kWork));
  FakeSubject strong("library", of(0.8 * kWork));
  const TimingReport report = Take(candidate, {&weak, &strong});
  EXPECT_NEAR(*report.Speedup(), 0.8, 1e-6);
  ASSERT_EQ(report.baselines.size(), 2u);
}

// Row 30: a baseline that meets a slow GPU is not compared with a candidate that does not.
TEST_F(Timing, ThrottledRoundsAreDroppedAsAWhole) {
  FakeSubject* running = nullptr;
  const auto call = [&](FakeSubject& self) {
    running = &self;
    gpu.Launch(0, kWork);
    self.Compute();
  };
  FakeSubject candidate("candidate", call);
  FakeSubject baseline("eager", call);
  int drawn = 0;
  // Two of three of the baseline's calls, none of the candidate's.
  gpu.throttles = [&](int) { return running == &baseline && ++drawn % 3 != 0; };
  const TimingReport report = Take(candidate, {&baseline});
  EXPECT_NEAR(*report.Speedup(), 1, 1e-6);
  EXPECT_GT(report.rounds_dropped, 20);
}

TEST_F(Timing, AGpuThatNeverRunsAtItsClockGivesNoTime) {
  FakeSubject candidate("candidate", [&](FakeSubject& self) {
    gpu.Launch(0, kWork);
    self.Compute();
  });
  gpu.throttles = [](int stretch) { return stretch > 2; };
  const TimingReport report = Take(candidate, {&candidate});
  EXPECT_EQ(Kinds(report), "throttled ");
  EXPECT_FALSE(report.Speedup());
}

// Row 60: a second kernel and a copy that a clock in the default stream does not see.
TEST_F(Timing, WorkBehindTheTimedKernelIsTimed) {
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    gpu.Launch(0, 0.1 * kWork);
    gpu.WaitFor(3, 0);
    gpu.Launch(3, 0.5 * kWork);  // the second kernel
    gpu.WaitFor(4, 3);
    gpu.Launch(4, 0.4 * kWork);  // the copy
    self.Compute();
  });
  const TimingReport report = Take(cheat);
  EXPECT_LT(gpu.by_default_stream(), 0.2 * kWork);
  EXPECT_NEAR(report.candidate.seconds, kWork, 1e-9);
}

// Row 60: a call that returns before its work has ended, timed by the host.
TEST_F(Timing, TheDeviceIsWaitedFor) {
  FakeSubject lazy("lazy", [&](FakeSubject& self) {
    gpu.Launch(0, kWork);
    self.Compute();
  });
  const TimingReport report = Take(lazy);
  EXPECT_LT(gpu.by_return(), 0.1 * kWork);
  EXPECT_NEAR(report.candidate.seconds, kWork, 1e-9);
}

// Row 60: work that one call leaves to the next: the next waits for the idle device first.
TEST_F(Timing, NoWorkLeaksIntoTheNextStretch) {
  FakeSubject candidate("candidate", [&](FakeSubject& self) {
    gpu.Launch(0, kWork);
    self.Compute();
  });
  gpu.Launch(9, 50 * kWork);
  EXPECT_NEAR(Take(candidate).candidate.seconds, kWork, 1e-9);
}

// Row 22: work on the host instead of the GPU.
TEST_F(Timing, HostWorkCounts) {
  FakeSubject cheat("cheat", [&](FakeSubject& self) {
    gpu.HostWork(50 * kWork);
    gpu.Launch(0, 1e-6);
    self.Compute();
  });
  const TimingReport report = Take(cheat);
  EXPECT_EQ(Kinds(report), "hidden_time ");
  EXPECT_GE(report.candidate.seconds, 50 * kWork);
}

TEST_F(Timing, AWrongBaselineIsOurError) {
  FakeSubject candidate("candidate", [&](FakeSubject& self) { self.Compute(); });
  FakeSubject wrong("eager", [&](FakeSubject&) {});
  EXPECT_FALSE(TakeTimes(gpu, candidate, {&wrong}, options).ok());
}

TEST(Summarise, LeavesOutWhatFiveOfAHundredWould) {
  // 1 - 2 P(B <= k) >= 0.95 for n coins: k = 3 for 15 (0.965), 5 for 20 (0.959), 0 for 6 (0.969).
  std::vector<double> samples;
  for (int i = 1; i <= 15; ++i) samples.push_back(i);
  EXPECT_EQ(Summarise("", samples).seconds, 8);
  EXPECT_EQ(Summarise("", samples).low, 4);
  EXPECT_EQ(Summarise("", samples).high, 12);
  for (int i = 16; i <= 20; ++i) samples.push_back(i);
  EXPECT_EQ(Summarise("", samples).seconds, 10.5);
  EXPECT_EQ(Summarise("", samples).low, 6);
  EXPECT_EQ(Summarise("", samples).high, 15);
  EXPECT_EQ(Summarise("", {1, 2, 3, 4, 5, 6}).low, 1);
  EXPECT_EQ(Summarise("", {7}).high, 7);
}

TEST(GeometricMean, OfSpeeds) {
  EXPECT_NEAR(*GeometricMean({2, 8}), 4, 1e-12);
  EXPECT_FALSE(GeometricMean({}));
  EXPECT_FALSE(GeometricMean({2, 0}));
}

}  // namespace
}  // namespace kernelsmith
