#include "compile/pp_tokens.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

// The tokens with a space between them; ends of lines as /.
std::string Spelled(std::string_view text) {
  std::string all;
  for (const PpToken& token : PpTokens(text)) {
    if (!all.empty()) all += ' ';
    all += token.kind == PpToken::Kind::kEndOfLine ? "/" : token.text;
  }
  return all;
}

TEST(PpTokens, CommentsAndSplicesAreGone) {
  EXPECT_EQ(Spelled("a /* b\n c */ d // e \\\n f\ng"), "a d / g /");
  EXPECT_EQ(Spelled("#in\\\ncl\\  \nude \"x.h\""), "# include \"x.h\" /");
  EXPECT_EQ(Spelled("/\\\n* no */ yes /\\\n/ no"), "yes /");
  EXPECT_EQ(Spelled("/* never closed"), "/");
  EXPECT_EQ(Spelled("\\"), "\\ /");
}

TEST(PpTokens, StringsAndCharacters) {
  EXPECT_EQ(Spelled(R"(f("a // b\"", 'c', L"d"))"), R"re(f ( "a // b\"" , 'c' , L"d" ) /)re");
  EXPECT_EQ(Spelled("R\"x(\n#include \"no\" \\\n)\" y)x\" z"),
            "R\"x(\n#include \"no\" \\\n)\" y)x\" z /");
  EXPECT_EQ(Spelled("1'000e+5 .5f 0x1p-3 a.b"), "1'000e+5 .5f 0x1p-3 a . b /");
}

TEST(PpTokens, HeaderNamesWhereTheyAreExpected) {
  EXPECT_EQ(Spelled("#include <a//b.h>"), "# include <a//b.h> /");
  EXPECT_EQ(Spelled("%:include \"a\\b.h\""), "# include \"a\\b.h\" /");
  EXPECT_EQ(Spelled("#if __has_include(<x/*y>)"), "# if __has_include ( <x/*y> ) /");
  EXPECT_EQ(Spelled("include < 3"), "include < 3 /");
}

TEST(PpTokens, PastingAndDigraphs) {
  EXPECT_EQ(Spelled("a##b %:%: c #d <% %>"), "a ## b ## c # d { } /");
}

TEST(PpTokens, LinesAreThoseOfTheFile) {
  const std::vector<PpToken> tokens = PpTokens("a\\\nb\n/*\n*/ c R\"(\n)\" d");
  EXPECT_EQ(tokens[0].text, "ab");
  EXPECT_EQ(tokens[0].line, 1);
  EXPECT_EQ(tokens[2].text, "c");
  EXPECT_EQ(tokens[2].line, 4);
  EXPECT_EQ(tokens[4].text, "d");
  EXPECT_EQ(tokens[4].line, 5);
}

}  // namespace
}  // namespace kernelsmith
