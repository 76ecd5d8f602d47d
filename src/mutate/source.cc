#include "mutate/source.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kernelsmith::mutate {
namespace {

// Longest first: the first that fits is taken.
constexpr std::array<std::string_view, 27> kPunctuation = {
    "<<<", ">>>", "<<=", ">>=", "...", "->", "::", "<<", ">>", "<=", ">=", "==", "!=", "&&",
    "||",  "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "##", "->*"};

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsTypeWord(std::string_view word) {
  return IsOneOf(word, {"const",  "unsigned", "signed", "int",    "long",     "short",  "char",
                        "float",  "double",   "bool",   "half",   "__half",   "void",   "auto",
                        "size_t", "volatile", "float2", "float4", "uint32_t", "int64_t"}) ||
         word.ends_with("_t");
}

// Words after which an operator is unary and "(" opens no call.
bool IsKeyword(std::string_view word) {
  return IsOneOf(word, {"return", "if", "for", "while", "switch", "case", "else", "do", "sizeof"});
}

}  // namespace

Source::Source(std::string text) : text_(std::move(text)) {
  Tokenize();
  Match();
  FindFunctions();
}

void Source::Tokenize() {
  size_t at = 0;
  int line = 1;
  size_t line_begin = 0;
  bool fresh_line = true;  // nothing but blanks before
  const auto is_word = [&](size_t i) {
    return i < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[i])) != 0 || text_[i] == '_');
  };
  while (at < text_.size()) {
    const char c = text_[at];
    if (c == '\n') {
      ++line;
      line_begin = ++at;
      fresh_line = true;
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
      continue;
    }
    const size_t begin = at;
    Token token{.begin = begin, .line = line, .column = static_cast<int>(begin - line_begin) + 1};
    if (text_.compare(at, 2, "//") == 0) {
      at = std::min(text_.find('\n', at), text_.size());
      continue;
    }
    if (text_.compare(at, 2, "/*") == 0) {
      const size_t end = text_.find("*/", at + 2);
      at = end == std::string::npos ? text_.size() : end + 2;
    } else if (c == '#' && fresh_line) {
      token.kind = TokenKind::kDirective;
      while (at < text_.size() && (text_[at] != '\n' || text_[at - 1] == '\\')) ++at;
      token.end = at;
      tokens_.push_back(token);
    } else if (text_.compare(at, 3, "R\"(") == 0) {
      token.kind = TokenKind::kText;
      const size_t end = text_.find(")\"", at);
      at = end == std::string::npos ? text_.size() : end + 2;
      token.end = at;
      tokens_.push_back(token);
    } else if (c == '"' || c == '\'') {
      token.kind = TokenKind::kText;
      ++at;
      while (at < text_.size() && text_[at] != c && text_[at] != '\n') {
        at += text_[at] == '\\' ? 2 : 1;
      }
      at = std::min(at + 1, text_.size());
      token.end = at;
      tokens_.push_back(token);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
               (c == '.' && at + 1 < text_.size() &&
                std::isdigit(static_cast<unsigned char>(text_[at + 1])) != 0)) {
      token.kind = TokenKind::kNumber;
      const bool hexadecimal = text_.compare(at, 2, "0x") == 0 || text_.compare(at, 2, "0X") == 0;
      while (is_word(at) || text_[at] == '.' || text_[at] == '\'' ||
             (!hexadecimal && (text_[at] == '+' || text_[at] == '-') &&
              (text_[at - 1] == 'e' || text_[at - 1] == 'E'))) {
        ++at;
      }
      token.end = at;
      tokens_.push_back(token);
    } else if (is_word(at)) {
      token.kind = TokenKind::kIdentifier;
      while (is_word(at)) ++at;
      token.end = at;
      tokens_.push_back(token);
    } else {
      size_t length = 1;
      for (const std::string_view each : kPunctuation) {
        if (text_.compare(at, each.size(), each) == 0) {
          length = each.size();
          break;
        }
      }
      at += length;
      token.end = at;
      tokens_.push_back(token);
    }
    // A directive, a comment or a raw string may have crossed lines.
    for (size_t i = begin; i < at; ++i) {
      if (text_[i] != '\n') continue;
      ++line;
      line_begin = i + 1;
    }
    fresh_line = false;
  }
}

void Source::Match() {
  partner_.resize(tokens_.size());
  for (size_t i = 0; i < tokens_.size(); ++i) partner_[i] = i;
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view word = Word(i);
    if (tokens_[i].kind != TokenKind::kPunctuation) continue;
    if (IsOneOf(word, {"(", "[", "{"})) open.push_back(i);
    if (!IsOneOf(word, {")", "]", "}"}) || open.empty()) continue;
    const std::string_view expected = word == ")" ? "(" : word == "]" ? "[" : "{";
    if (Word(open.back()) != expected) continue;
    partner_[open.back()] = i;
    partner_[i] = open.back();
    open.pop_back();
  }
  // Launches: "<<<" to the next ">>>".
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (!Is(i, "<<<")) continue;
    for (size_t j = i + 1; j < tokens_.size() && !Is(j, ";"); ++j) {
      if (!Is(j, ">>>")) continue;
      partner_[i] = j;
      partner_[j] = i;
      break;
    }
  }
}

void Source::FindFunctions() {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (!Is(i, "{") || partner_[i] == i) continue;
    // ") {", possibly with words between, and a name before the "(".
    size_t close = i;
    while (close > 0 && IsOneOf(Word(close - 1), {"const", "noexcept", "override", "mutable"})) {
      --close;
    }
    if (close == 0 || !Is(close - 1, ")")) continue;
    const size_t open = partner_[close - 1];
    if (open == close - 1 || open == 0 || !IsIdentifier(open - 1)) continue;
    const std::string_view name = Word(open - 1);
    if (IsKeyword(name)) continue;
    // What stands before it, back to the end of whatever came last.
    Function function{.name = std::string(name),
                      .parameters = {open + 1, close - 1},
                      .body = {i + 1, partner_[i]}};
    for (size_t j = open - 1; j-- > 0;) {
      const std::string_view word = Word(j);
      if (IsOneOf(word, {";", "}", "{"}) || tokens_[j].kind == TokenKind::kDirective) break;
      if (word == "__global__") function.kernel = function.device = true;
      if (word == "__device__") function.device = true;
    }
    functions_.push_back(std::move(function));
    // Bodies are not searched for functions: lambdas belong to what holds them. A class's or a
    // namespace's brace has no ")" before it, so the search goes on inside those.
    i = partner_[i];
  }
}

std::string_view Source::Word(size_t i) const {
  if (i >= tokens_.size()) return {};
  return std::string_view(text_).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
}

bool Source::IsIdentifier(size_t i) const {
  return i < tokens_.size() && tokens_[i].kind == TokenKind::kIdentifier;
}

std::string Source::Text(Range range) const {
  if (range.empty()) return {};
  const size_t begin = tokens_[range.begin].begin;
  return text_.substr(begin, tokens_[range.end - 1].end - begin);
}

// `open` is "<" after a name: the index after the matching ">" if all between looks like types and
// constants, otherwise `open`.
size_t Source::TemplateEnd(size_t open) const {
  int depth = 0;
  for (size_t i = open; i < tokens_.size(); ++i) {
    const std::string_view word = Word(i);
    if (word == "<") {
      ++depth;
    } else if (word == ">" || word == ">>") {
      depth -= word == ">" ? 1 : 2;
      if (depth <= 0) return depth == 0 ? i + 1 : open;
    } else if (!IsIdentifier(i) && tokens_[i].kind != TokenKind::kNumber &&
               !IsOneOf(word, {"::", ",", "*", "&"})) {
      return open;
    }
  }
  return open;
}

bool Source::Compares(size_t i) const {
  if (!Is(i, "<") && !Is(i, ">")) return false;
  if (i == 0) return false;
  // The "<" that could have opened the template arguments this token is in or opens.
  const size_t limit = i >= 12 ? i - 12 : 0;
  for (size_t open = i; open > limit; --open) {
    if (!Is(open, "<") || !IsIdentifier(open - 1)) continue;
    const size_t end = TemplateEnd(open);
    if (end == open || end <= i) continue;
    // Template arguments are followed by a call, a scope or a declared name; "a < b, c > d" as
    // a comparison does not occur in code that people write.
    if (Is(end, "(") || Is(end, "::") || Is(end, "{") || Is(end, "<<<") || Is(end, "*") ||
        Is(end, ">") || Is(end, ",") || IsIdentifier(end)) {
      return false;
    }
  }
  return true;
}

bool Source::IsBinary(size_t i) const {
  if (i == 0 || i + 1 >= tokens_.size()) return false;
  const std::string_view before = Word(i - 1);
  if (IsKeyword(before) || IsTypeWord(before)) return false;
  const bool ends_operand = IsIdentifier(i - 1) || tokens_[i - 1].kind == TokenKind::kNumber ||
                            before == ")" || before == "]";
  if (!ends_operand) return false;
  if (before == ")" && IsCast(Partner(i - 1))) return false;
  // "T* name" declares.
  if (Is(i, "*") && IsIdentifier(i - 1) && (i < 2 || !IsIdentifier(i - 2)) &&
      (i < 2 || IsOneOf(Word(i - 2), {";", "{", "}", "::"})) && IsIdentifier(i + 1)) {
    return false;
  }
  return true;
}

// "(" of a C-style cast: only words of a type inside, an operand after it.
bool Source::IsCast(size_t open) const {
  const size_t close = Partner(open);
  if (!Is(open, "(") || close == open || close == open + 1) return false;
  if (open > 0 && (IsIdentifier(open - 1) || Is(open - 1, ">")) && !IsKeyword(Word(open - 1))) {
    return false;  // a call
  }
  for (size_t i = open + 1; i < close; ++i) {
    if (!IsTypeWord(Word(i)) && !Is(i, "*") && !Is(i, "&")) return false;
  }
  return true;
}

size_t Source::PrimaryEnd(size_t i) const {
  while (IsOneOf(Word(i), {"-", "+", "!", "~", "*", "&"})) ++i;
  while (Is(i, "(") && IsCast(i)) i = Partner(i) + 1;
  if (i >= tokens_.size()) return i;
  if (Is(i, "(")) {
    i = Partner(i) + 1;
  } else if (IsIdentifier(i) || tokens_[i].kind == TokenKind::kNumber) {
    ++i;
    while (Is(i, "::")) i += 2;
    if (Is(i, "<") && !Compares(i)) i = TemplateEnd(i);
  } else {
    return i;
  }
  for (;;) {
    if (Is(i, "(") || Is(i, "[")) {
      if (Partner(i) == i) return i;
      i = Partner(i) + 1;
    } else if (Is(i, ".") || Is(i, "->") || Is(i, "::")) {
      i += 2;
    } else if (Is(i, "++") || Is(i, "--")) {
      ++i;
    } else {
      return i;
    }
  }
}

// The first token of the operand whose last token is `i`; `i` + 1 if there is none.
size_t Source::PrimaryBegin(size_t i) const {
  size_t begin = i;
  for (;;) {
    if (Is(begin, ")") || Is(begin, "]")) {
      if (Partner(begin) == begin) return i + 1;
      begin = Partner(begin);
      if (begin == 0) return begin;
      if (Is(begin - 1, ">") && !Compares(begin - 1)) {  // static_cast<float>(...)
        size_t open = begin - 1;
        while (open > 0 && !Is(open, "<")) --open;
        begin = open == 0 ? begin : open - 1;
      } else if (IsIdentifier(begin - 1) && !IsKeyword(Word(begin - 1))) {
        --begin;
      } else if (Is(begin - 1, ")") || Is(begin - 1, "]")) {
        --begin;
        continue;
      } else {
        break;
      }
    } else if (!IsIdentifier(begin) && tokens_[begin].kind != TokenKind::kNumber) {
      return i + 1;
    }
    if (begin == 0) return begin;
    if (Is(begin - 1, ".") || Is(begin - 1, "->") || Is(begin - 1, "::")) {
      if (begin < 2) return i + 1;
      begin -= 2;
      continue;
    }
    break;
  }
  while (begin > 0 && Is(begin - 1, ")") && IsCast(Partner(begin - 1))) {
    begin = Partner(begin - 1);
  }
  return begin;
}

Range Source::LeftOperand(size_t i) const {
  if (i == 0) return {};
  const bool sum = Is(i, "+") || Is(i, "-");
  size_t begin = PrimaryBegin(i - 1);
  if (begin >= i) return {};
  while (begin > 1 &&
         (Is(begin - 1, "*") || Is(begin - 1, "/") || Is(begin - 1, "%") ||
          (sum && (Is(begin - 1, "+") || Is(begin - 1, "-")))) &&
         IsBinary(begin - 1)) {
    const size_t further = PrimaryBegin(begin - 2);
    if (further >= begin - 1) break;
    begin = further;
  }
  return {begin, i};
}

Range Source::RightOperand(size_t i) const {
  const size_t begin = i + 1;
  size_t end = PrimaryEnd(begin);
  if (end <= begin) return {};
  if (Is(i, "+") || Is(i, "-")) {
    while ((Is(end, "*") || Is(end, "/") || Is(end, "%")) && PrimaryEnd(end + 1) > end + 1) {
      end = PrimaryEnd(end + 1);
    }
  }
  return {begin, std::min(end, tokens_.size())};
}

Range Source::Statement(size_t i, const Range& body) const {
  size_t begin = i;
  while (begin > body.begin) {
    const std::string_view before = Word(begin - 1);
    if (IsOneOf(before, {";", "{", "}", "else"}) ||
        tokens_[begin - 1].kind == TokenKind::kDirective) {
      break;
    }
    if (before == ")") {
      const size_t open = Partner(begin - 1);
      if (open > 0 && IsOneOf(Word(open - 1), {"if", "for", "while"})) break;
      begin = open;
      continue;
    }
    if (before == "]") {
      begin = Partner(begin - 1);
      continue;
    }
    if (before == "(" || before == "[") return {};  // i stands inside brackets
    --begin;
  }
  size_t end = i;
  while (end < body.end && !Is(end, ";")) {
    if (IsOneOf(Word(end), {"(", "[", "{"})) end = Partner(end);
    if (Is(end, "}")) return {};
    ++end;
  }
  return end < body.end ? Range{begin, end + 1} : Range{};
}

std::vector<Range> Source::Arguments(size_t open) const {
  const size_t close = Partner(open);
  std::vector<Range> arguments;
  size_t begin = open + 1;
  for (size_t i = open + 1; i <= close; ++i) {
    if (i < close && IsOneOf(Word(i), {"(", "[", "{"})) {
      i = Partner(i);
      continue;
    }
    if (i < close && Is(i, "<") && !Compares(i)) {
      const size_t end = TemplateEnd(i);
      if (end > i) i = end - 1;
      continue;
    }
    if (i != close && !Is(i, ",")) continue;
    if (begin < i) arguments.push_back({begin, i});
    begin = i + 1;
  }
  return arguments;
}

}  // namespace kernelsmith::mutate
