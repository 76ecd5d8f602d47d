#include "ptx/lexer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace kernelsmith::ptx {
namespace {

std::vector<Token> All(std::string_view text) {
  Lexer lexer(text);
  std::vector<Token> tokens;
  while (true) {
    tokens.push_back(lexer.Next());
    if (tokens.back().kind == TokenKind::kEnd || tokens.back().kind == TokenKind::kError) {
      return tokens;
    }
  }
}

TEST(LexerTest, NamesDirectivesAndPunctuation) {
  const auto tokens = All("  @%p1 $L_2 : .reg .b32 _ x\n.param::entry <<");
  ASSERT_EQ(tokens.size(), 11u);
  EXPECT_EQ(tokens[0].text, "@");
  EXPECT_EQ(tokens[1].text, "%p1");
  EXPECT_EQ(tokens[2].text, "$L_2");
  EXPECT_EQ(tokens[3].text, ":");
  EXPECT_EQ(tokens[4].kind, TokenKind::kDirective);
  EXPECT_EQ(tokens[4].text, ".reg");
  EXPECT_EQ(tokens[6].text, "_");
  EXPECT_EQ(tokens[7].where, (Position{1, 27}));
  EXPECT_EQ(tokens[8].text, ".param::entry");
  EXPECT_EQ(tokens[8].where, (Position{2, 1}));
  EXPECT_EQ(tokens[9].text, "<<");
}

TEST(LexerTest, Integers) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"0", 0},     {"42", 42},  {"0x7fF", 2047},
      {"0b101", 5}, {"017", 15}, {"18446744073709551615", UINT64_MAX}};
  for (const auto& [text, value] : cases) {
    const Token token = All(text)[0];
    EXPECT_EQ(token.kind, TokenKind::kInteger) << text;
    EXPECT_EQ(token.integer, value) << text;
    EXPECT_EQ(token.is_unsigned, value > INT64_MAX) << text;
  }
  EXPECT_TRUE(All("3U")[0].is_unsigned);
}

TEST(LexerTest, Floats) {
  EXPECT_EQ(All("0f3F800000")[0].bits, 0x3F800000u);
  EXPECT_TRUE(All("0F3f800000")[0].is_single);
  EXPECT_EQ(All("0d3FF0000000000000")[0].bits, 0x3FF0000000000000u);
  for (const char* text : {"1.5", "15e-1", "0.15E1", "1.5000"}) {
    const Token token = All(text)[0];
    EXPECT_EQ(token.kind, TokenKind::kFloat) << text;
    EXPECT_EQ(std::bit_cast<double>(token.bits), 1.5) << text;
  }
  EXPECT_EQ(std::bit_cast<double>(All("1e999")[0].bits), HUGE_VAL);
  EXPECT_EQ(std::bit_cast<double>(All("1e-999")[0].bits), 0);
}

TEST(LexerTest, MalformedInputIsAnErrorToken) {
  for (const char* text : {"0x", "0xg", "09", "0b2", "1e+", "12ab", "0f123", "0d3FF", "0f3F8000000",
                           "18446744073709551616", "\"open", "\"line\nbreak\"", "/* open", "\x01",
                           "\\", "`", "1.5x"}) {
    EXPECT_EQ(All(text).back().kind, TokenKind::kError) << text;
  }
}

TEST(LexerTest, CommentsAndLineMarkersAreSpace) {
  const auto tokens = All("a // b\n# 1 \"x.cu\"\n/* c\n d */ e");
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[1].text, "e");
  EXPECT_EQ(tokens[1].where, (Position{4, 7}));
}

TEST(LexerTest, MnemonicTakesAllModifiers) {
  Lexer lexer("cp.async.shared::cta .L2::128B [a];");
  std::vector<Lexer::Word> words;
  lexer.TakeMnemonic(lexer.Next(), &words);
  ASSERT_EQ(words.size(), 4u);
  EXPECT_EQ(words[2].text, "shared::cta");
  EXPECT_EQ(words[3].text, "L2::128B");
  EXPECT_EQ(words[3].where, (Position{1, 22}));
  EXPECT_EQ(lexer.Next().text, "[");
}

TEST(LexerTest, BracedTextEndsAtItsOwnBrace) {
  Lexer lexer("{ a { b } \"}\" // }\n } c");
  lexer.Next();
  std::string_view inner;
  ASSERT_TRUE(lexer.TakeBraced(&inner));
  EXPECT_EQ(inner, " a { b } \"}\" // }\n ");
  EXPECT_EQ(lexer.Next().text, "c");
}

}  // namespace
}  // namespace kernelsmith::ptx
