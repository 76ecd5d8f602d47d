#include "checkers/finding.h"

#include <gtest/gtest.h>

namespace kernelsmith::checkers {
namespace {

Finding At(FindingKind kind, int line, Space space = Space::kGlobal) {
  return {.kind = kind,
          .severity = DefaultSeverity(kind),
          .space = space,
          .place = {.kernel = "k", .source = {.file = "a.cu", .line = line}}};
}

TEST(FindingSink, FoldsTheSameDefectAndCounts) {
  FindingSink sink;
  for (int i = 0; i < 5; ++i) sink.Add(At(FindingKind::kOutOfBounds, 3));
  sink.Add(At(FindingKind::kOutOfBounds, 4));
  sink.Add(At(FindingKind::kOutOfBounds, 3, Space::kShared));
  sink.Add(At(FindingKind::kMisaligned, 3));
  const std::vector<Finding> all = sink.Findings();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].count, 5u);
  EXPECT_EQ(all[1].count, 1u);
  EXPECT_TRUE(sink.HasErrors());
}

TEST(FindingSink, OtherSidesTellDefectsApart) {
  FindingSink sink;
  for (const int line : {7, 8, 7}) {
    Finding race = At(FindingKind::kRace, 3);
    race.other = Place{.kernel = "k", .source = {.file = "a.cu", .line = line}};
    sink.Add(race);
  }
  EXPECT_EQ(sink.size(), 2u);
}

TEST(FindingSink, CallsOfTheHostAreToldApart) {
  FindingSink sink;
  for (const uint64_t offset : {0x10, 0x20, 0x10}) {
    sink.Add({.kind = FindingKind::kLeak,
              .severity = Severity::kWarning,
              .place = {.frames = {{.module = "a.out", .offset = offset}}}});
  }
  EXPECT_EQ(sink.size(), 2u);
}

TEST(FindingSink, AConsequenceMakesAWarningAnError) {
  FindingSink sink;
  sink.Add(At(FindingKind::kIndexOverflow, 3));
  EXPECT_FALSE(sink.HasErrors());
  Finding worse = At(FindingKind::kIndexOverflow, 3);
  worse.severity = Severity::kError;
  sink.Add(worse);
  ASSERT_EQ(sink.size(), 1u);
  EXPECT_TRUE(sink.HasErrors());
  EXPECT_EQ(sink.Findings()[0].count, 2u);
}

TEST(Finding, NamesAreThoseOfTheReport) {
  EXPECT_STREQ(Name(FindingKind::kUninitializedRead), "uninitialized_read");
  EXPECT_STREQ(Name(FindingKind::kWriteToReadonly), "write_to_readonly");
  EXPECT_STREQ(NameOf(DefaultSeverity(FindingKind::kLeak)), "warning");
}

}  // namespace
}  // namespace kernelsmith::checkers
