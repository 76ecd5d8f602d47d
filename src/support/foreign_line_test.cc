#include "support/foreign_line.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

TEST(ForeignLine, IsOneLineWithoutEffects) {
  EXPECT_EQ(OneForeignLine("a\n\tb\r\nc  d\n"), "a b c d");
  EXPECT_EQ(OneForeignLine("x\033[2J\033]0;title\ay"), "xy");
  EXPECT_EQ(OneForeignLine("right\u202e-to-left\u200b"), "right-to-left");
  EXPECT_EQ(OneForeignLine("größer ✓"), "größer ✓");
}

TEST(ForeignLine, IsCut) {
  const std::string line = OneForeignLine(std::string(100'000, 'x'), 100);
  EXPECT_LE(line.size(), 100U);
  EXPECT_TRUE(line.ends_with("[...]"));
}

TEST(ForeignLine, QuotesCanNotBeLeft) {
  EXPECT_EQ(QuoteForeign("a \" is \\ b"), "\"a \\\" is \\\\ b\"");
  EXPECT_EQ(QuoteForeign("no\nverified: yes"), "\"no verified: yes\"");
}

}  // namespace
}  // namespace kernelsmith
