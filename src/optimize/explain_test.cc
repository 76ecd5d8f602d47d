#include "optimize/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/counters.h"

namespace kernelsmith {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// One step a kernel, each with the same counters.
ArchivedCandidate Candidate(int kernels, double us, uint64_t dram_bytes, double dram_us,
                            double issue_us) {
  ArchivedCandidate candidate;
  candidate.time_ns = us * 1e3;
  candidate.time_kind = "estimated";
  candidate.limits = json::array();
  json steps = json::array();
  for (int i = 0; i < kernels; ++i) {
    const bool dram = dram_us > issue_us;
    candidate.limits.push_back(
        {{"name", "k"},
         {"us", std::max(dram_us, issue_us)},
         {"launch",
          {{"limit", dram ? "DRAM: bytes" : "instruction issue: warp instructions"},
           {"parts",
            {{{"name", "DRAM"}, {"us", dram_us}, {"why", "bytes"}},
             {{"name", "instruction issue"}, {"us", issue_us}, {"why", "instructions"}}}}}}});
    counters::LaunchCounters c;
    c.dram_read_bytes = dram_bytes;
    c.flops_fp32 = 1000;
    c.warps = 1;
    steps.push_back({{"kind", "launch"}, {"counters", counters::ToJson(c)}});
  }
  candidate.counters = {{"steps", steps}};
  return candidate;
}

TEST(Explain, NamesWhatBecameLess) {
  const Explanation explanation =
      Explain(Candidate(3, 50, 100'000'000, 10, 4), Candidate(1, 20, 100'000'000, 10, 4));
  ASSERT_FALSE(explanation.reasons.empty());
  EXPECT_THAT(explanation.reasons[0], StartsWith("1 launch instead of 3: 5.00 us less"));
  EXPECT_THAT(explanation.reasons,
              Contains(StartsWith("DRAM: 10.00 us instead of 30.00 us (bytes; before: bytes)")));
  bool found = false;
  for (const Explanation::Row& row : explanation.counters) {
    if (row.name != "DRAM traffic") continue;
    found = true;
    EXPECT_EQ(row.before_text, "300 MB");
    EXPECT_EQ(row.after_text, "100 MB");
  }
  EXPECT_TRUE(found);
}

TEST(Explain, SaysWhatLimitsNow) {
  const Explanation explanation =
      Explain(Candidate(1, 50, 1000, 10, 40), Candidate(1, 20, 1000, 10, 4));
  EXPECT_THAT(explanation.reasons,
              Contains(HasSubstr("instruction issue: 4.00 us instead of 40.00")));
  EXPECT_THAT(explanation.reasons,
              Contains("the longest kernel was limited by instruction issue: warp instructions; "
                       "now it is DRAM: bytes"));
}

TEST(Explain, ClaimsNothingWhereNothingIsFaster) {
  const ArchivedCandidate same = Candidate(1, 50, 1000, 10, 40);
  EXPECT_THAT(Explain(same, same).reasons, ElementsAre("it is not faster"));
}

TEST(Explain, RooflineSumsAllKernels) {
  const RooflinePoint point = RooflineOf(Candidate(2, 50, 500, 10, 4));
  EXPECT_EQ(point.flops, 2000);
  EXPECT_EQ(point.dram_bytes, 1000);
  EXPECT_NEAR(point.device_seconds, 20e-6, 1e-12);
}

}  // namespace
}  // namespace kernelsmith
