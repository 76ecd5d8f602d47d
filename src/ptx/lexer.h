// PTX text to tokens, one at a time. The parser never looks further ahead than the token it holds,
// so that it can ask for the characters behind an instruction's name in the way of a mnemonic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/syntax.h"

namespace kernelsmith::ptx {

enum class TokenKind : uint8_t {
  kEnd,
  kName,       // add, %r1, $L__BB0_2, _
  kDirective,  // .reg, .b32, .x
  kInteger,
  kFloat,
  kString,  // text is what stands between the quotes, as written
  kPunctuation,
  kError,  // Lexer::error() says what is wrong
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Position where;
  std::string_view text;

  uint64_t integer = 0;      // kInteger
  bool is_unsigned = false;  // kInteger: U suffix, or beyond the signed range
  uint64_t bits = 0;         // kFloat: a float in the low half if is_single, else a double
  bool is_single = false;

  bool Is(std::string_view expected) const {
    return (kind == TokenKind::kPunctuation || kind == TokenKind::kDirective ||
            kind == TokenKind::kName) &&
           text == expected;
  }
};

class Lexer {
 public:
  // `text` must outlive the lexer and its tokens.
  explicit Lexer(std::string_view text) : text_(text) {}

  Token Next();

  // What was wrong with the last token of kind kError.
  const std::string& error() const { return error_; }

  // True if the text goes on with a ':' that is not the '::' of a modifier: `token` is a label.
  bool AtColon();

  // `name` is the token just returned: appends the dotted modifiers that follow it to `words`
  // (which gets the name first), with their positions. Space between them is accepted.
  struct Word {
    std::string_view text;  // without the dot
    Position where;
  };
  void TakeMnemonic(const Token& name, std::vector<Word>* words);

  // After a '{': the text up to its '}', which is taken as well. False at the end of the text.
  bool TakeBraced(std::string_view* inner);

 private:
  Token NumberToken(Position where);
  Token StringToken(Position where);
  Token ErrorToken(Position where, std::string message);
  Token Finish(TokenKind kind, Position where, size_t begin);
  // Space, comments and line markers (# 1 "x.cu"). False: a comment does not end.
  bool SkipSpace();
  char Peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  Position Here() const { return {line_, static_cast<int>(position_ - line_begin_) + 1}; }
  void NewLine() {
    ++line_;
    line_begin_ = position_;
  }

  std::string_view text_;
  size_t position_ = 0;
  size_t line_begin_ = 0;
  int line_ = 1;
  Position open_comment_;  // where the comment begins that does not end
  std::string error_;
};

}  // namespace kernelsmith::ptx
