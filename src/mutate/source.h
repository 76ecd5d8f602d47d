// A CUDA source as tokens with light structure: matching brackets, functions and where they run,
// statements, operands. Enough to change a kernel in a place that is known; what the compiler then
// refuses is counted, so a guess that fails costs a compilation and nothing else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelsmith::mutate {

enum class TokenKind { kIdentifier, kNumber, kText, kPunctuation, kDirective };

struct Token {
  TokenKind kind = TokenKind::kPunctuation;
  size_t begin = 0;  // a position in the text
  size_t end = 0;
  int line = 1;
  int column = 1;
};

struct Range {  // a range of tokens
  size_t begin = 0;
  size_t end = 0;  // one past the last
  bool empty() const { return begin >= end; }
};

struct Function {
  std::string name;
  Range parameters;  // without the parentheses
  Range body;        // without the braces
  bool device = false;
  bool kernel = false;  // __global__
};

class Source {
 public:
  explicit Source(std::string text);

  const std::string& text() const { return text_; }
  size_t size() const { return tokens_.size(); }
  const Token& operator[](size_t i) const { return tokens_[i]; }
  const std::vector<Function>& functions() const { return functions_; }

  // "" beyond either end, so that looking around needs no care.
  std::string_view Word(size_t i) const;
  bool Is(size_t i, std::string_view word) const { return Word(i) == word; }
  bool IsIdentifier(size_t i) const;
  // Tokens as they stand in the text, with what lies between them.
  std::string Text(Range range) const;

  // The other one of a pair of brackets; the token itself if it is none or has no partner.
  size_t Partner(size_t i) const { return partner_[i]; }
  // A "<" or ">" that compares, rather than holding template arguments.
  bool Compares(size_t i) const;
  // + - * / % with an operand on both sides.
  bool IsBinary(size_t i) const;
  // The operand to the left or right of the binary operator at `i`, by its precedence. Empty if
  // there is none that can be made out.
  Range LeftOperand(size_t i) const;
  Range RightOperand(size_t i) const;
  // The statement that holds `i`, up to and with its semicolon. Empty if it has none.
  Range Statement(size_t i, const Range& body) const;
  // Arguments of the call whose "(" (or "<<<") is at `open`, without the commas.
  std::vector<Range> Arguments(size_t open) const;

 private:
  void Tokenize();
  void Match();
  void FindFunctions();
  size_t PrimaryEnd(size_t i) const;
  size_t PrimaryBegin(size_t i) const;
  bool IsCast(size_t open) const;
  size_t TemplateEnd(size_t open) const;

  std::string text_;
  std::vector<Token> tokens_;
  std::vector<size_t> partner_;
  std::vector<Function> functions_;
};

}  // namespace kernelsmith::mutate
