// A source as the preprocessor sees it first: lines that end in a backslash joined, comments gone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelsmith {

struct PpToken {
  enum class Kind {
    kIdentifier,
    kNumber,
    kString,      // with prefix and quotes; of raw strings, too
    kCharacter,   // the same
    kHeaderName,  // <a/b.h> or "a/b.h" where a directive or __has_include expects one
    kPunctuator,  // one character, apart from ##; digraphs are what they stand for
    kEndOfLine,
  };
  Kind kind = Kind::kPunctuator;
  std::string text;
  int line = 0;  // 1 is the first

  bool Is(std::string_view word) const { return text == word && kind != Kind::kString; }
};

// Never fails: what is no token is a punctuator. The last token is an end of line.
std::vector<PpToken> PpTokens(std::string_view text);

}  // namespace kernelsmith
