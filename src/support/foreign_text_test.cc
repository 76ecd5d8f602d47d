#include "support/foreign_text.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

TEST(ForeignText, PlainTextStaysAsItIs) {
  EXPECT_EQ(CleanForeignText("a\tb\nc", 100), "a\tb\nc");
  EXPECT_EQ(CleanForeignText("größer ≥ 😀", 100), "größer ≥ 😀");
}

TEST(ForeignText, EscapeSequencesGoAsAWhole) {
  EXPECT_EQ(CleanForeignText("\x1b[31mred\x1b[0m", 100), "red");
  EXPECT_EQ(CleanForeignText("\x1b]0;title\aafter", 100), "after");
  EXPECT_EQ(CleanForeignText("\x1b]8;;http://x\x1b\\link", 100), "link");
  EXPECT_EQ(CleanForeignText("\x1bPq#0\x1b\\x", 100), "x");
  EXPECT_EQ(CleanForeignText("end\x1b", 100), "end");
  EXPECT_EQ(CleanForeignText("end\x1b[12;", 100), "end");
  EXPECT_EQ(CleanForeignText("\xc2\x9b"
                             "2J",
                             100),
            "2J");  // the one-byte form of ESC [
}

TEST(ForeignText, ControlCharactersGo) {
  EXPECT_EQ(CleanForeignText("verdict: refuted\rverdict: verified", 100),
            "verdict: refutedverdict: verified");
  EXPECT_EQ(CleanForeignText(std::string_view("a\0b\bc\x7f", 6), 100), "abc");
}

TEST(ForeignText, WhatCannotBeSeenGoes) {
  EXPECT_EQ(CleanForeignText("a\u202eb\u2066c\u200bd\ufeffe", 100), "abcde");
}

TEST(ForeignText, BytesThatAreNoTextGo) {
  EXPECT_EQ(CleanForeignText("a\xff\xc0\xaf"
                             "b\xed\xa0\x80"
                             "c\xe2\x82",
                             100),
            "abc");
}

TEST(ForeignText, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(CleanForeignText("0123456789", 10), "0123456789");
  EXPECT_EQ(CleanForeignText("0123456789x", 10), "0123 [...]");
  EXPECT_EQ(CleanForeignText("012\u00fc456789", 10), "012 [...]");
  EXPECT_EQ(CleanForeignText("abcdef", 3), "");
}

}  // namespace
}  // namespace kernelsmith
