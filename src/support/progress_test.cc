#include "support/progress.h"

#include <gtest/gtest.h>

#include <sstream>

#include "support/testing/fake_clock.h"

namespace kernelsmith {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LineProgress, SaysBeginningEndAndEveryTenSeconds) {
  std::ostringstream out;
  FakeClock clock;
  LineProgress progress(out, clock);
  progress.Begin("mutants", 3);
  clock.Advance(seconds(4));
  progress.Update(1, "quick");
  clock.Advance(seconds(7));
  progress.Update(2, "best 1.31x");
  progress.Update(3, "");
  progress.End();
  EXPECT_EQ(out.str(),
            "mutants: 0/3\n"
            "mutants: 2/3, 11 s, best 1.31x\n"
            "mutants: 3 done in 11.0 s\n");
}

TEST(BarProgress, DrawsOneLineAtMostTenTimesASecond) {
  std::ostringstream out;
  FakeClock clock;
  BarProgress progress(out, clock, 60);
  progress.Begin("work", 100);
  for (int i = 1; i <= 50; ++i) {
    clock.Advance(milliseconds(10));
    progress.Update(i, "");
  }
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 1 + 5);
  EXPECT_NE(text.find("[============            ] 50/100"), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(BarProgress, NeverDrawsWiderThanTheTerminal) {
  std::ostringstream out;
  FakeClock clock;
  BarProgress progress(out, clock, 40);
  progress.Begin(std::string(200, 'x'), 0);
  EXPECT_EQ(out.str().size(), 40u);  // '\r' and 39 columns
}

}  // namespace
}  // namespace kernelsmith
