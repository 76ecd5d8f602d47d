#include "ptx/lexer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>

namespace kernelsmith::ptx {
namespace {

enum CharClass : uint8_t { kOther = 0, kNameChar = 1, kDigit = 2, kSpaceChar = 4 };

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kNameChar;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kNameChar;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kNameChar | kDigit;
  classes['_'] = classes['$'] = kNameChar;
  classes[' '] = classes['\t'] = classes['\r'] = classes['\n'] = classes['\f'] = classes['\v'] =
      kSpaceChar;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

bool IsNameChar(char c) { return kClasses[static_cast<uint8_t>(c)] & kNameChar; }
bool IsDigit(char c) { return kClasses[static_cast<uint8_t>(c)] & kDigit; }
bool IsSpace(char c) { return kClasses[static_cast<uint8_t>(c)] & kSpaceChar; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// How an unexpected character is named in a message.
std::string Shown(char c) {
  if (c > ' ' && c < 0x7f) return std::string("'") + c + "'";
  constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<uint8_t>(c);
  return std::string("byte 0x") + kHex[byte >> 4] + kHex[byte & 15];
}

}  // namespace

bool Lexer::SkipSpace() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '\n') {
      ++position_;
      NewLine();
    } else if (IsSpace(c)) {
      ++position_;
    } else if (c == '/' && Peek(1) == '/') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else if (c == '/' && Peek(1) == '*') {
      const Position begin = Here();
      position_ += 2;
      while (position_ < text_.size() && !(text_[position_] == '*' && Peek(1) == '/')) {
        if (text_[position_++] == '\n') NewLine();
      }
      if (position_ >= text_.size()) {
        open_comment_ = begin;
        return false;
      }
      position_ += 2;
    } else if (c == '#' && position_ == line_begin_) {
      // A preprocessor's line marker.
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else {
      break;
    }
  }
  return true;
}

Token Lexer::Finish(TokenKind kind, Position where, size_t begin) {
  return {.kind = kind, .where = where, .text = text_.substr(begin, position_ - begin)};
}

Token Lexer::ErrorToken(Position where, std::string message) {
  error_ = std::move(message);
  return {.kind = TokenKind::kError, .where = where};
}

Token Lexer::Next() {
  if (!SkipSpace()) return ErrorToken(open_comment_, "comment does not end");
  const Position where = Here();
  if (position_ >= text_.size()) return {.kind = TokenKind::kEnd, .where = where};
  const size_t begin = position_;
  const char c = text_[position_];
  if (IsDigit(c)) return NumberToken(where);
  if (IsNameChar(c) || (c == '%' && IsNameChar(Peek(1)))) {
    ++position_;
    while (position_ < text_.size() && IsNameChar(text_[position_])) ++position_;
    return Finish(TokenKind::kName, where, begin);
  }
  if (c == '.' && IsNameChar(Peek(1))) {
    ++position_;
    while (position_ < text_.size() &&
           (IsNameChar(text_[position_]) ||
            (text_[position_] == ':' && Peek(1) == ':' && IsNameChar(Peek(2))) ||
            (text_[position_] == ':' && text_[position_ - 1] == ':'))) {
      ++position_;
    }
    return Finish(TokenKind::kDirective, where, begin);
  }
  if (c == '"') return StringToken(where);
  ++position_;
  const char next = Peek();
  switch (c) {
    case '<':
    case '>':
      if (next == c || next == '=') ++position_;
      break;
    case '=':
    case '!':
      if (next == '=') ++position_;
      break;
    case '&':
    case '|':
      if (next == c) ++position_;
      break;
    case ',':
    case ';':
    case '{':
    case '}':
    case '(':
    case ')':
    case '[':
    case ']':
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '~':
    case '^':
    case '?':
    case ':':
    case '@':
      break;
    default:
      return ErrorToken(where, "unexpected " + Shown(c));
  }
  return Finish(TokenKind::kPunctuation, where, begin);
}

Token Lexer::StringToken(Position where) {
  const size_t begin = ++position_;
  while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n') {
    position_ += text_[position_] == '\\' && Peek(1) != '\n' && Peek(1) != '\0' ? 2 : 1;
  }
  if (Peek() != '"') return ErrorToken(where, "string does not end on its line");
  Token token = Finish(TokenKind::kString, where, begin);
  ++position_;
  return token;
}

Token Lexer::NumberToken(Position where) {
  const size_t begin = position_;
  // 0f3F800000 and 0d3FF0000000000000: the bits of a float or a double.
  if (text_[begin] == '0' &&
      (Peek(1) == 'f' || Peek(1) == 'F' || Peek(1) == 'd' || Peek(1) == 'D')) {
    const bool is_single = Peek(1) == 'f' || Peek(1) == 'F';
    const int expected = is_single ? 8 : 16;
    position_ += 2;
    uint64_t bits = 0;
    int digits = 0;
    for (; HexDigit(Peek()) < 16; ++position_, ++digits) bits = bits << 4 | HexDigit(Peek());
    if (digits != expected || IsNameChar(Peek())) {
      while (IsNameChar(Peek())) ++position_;
      return ErrorToken(where, is_single ? "0f must be followed by exactly 8 hexadecimal digits"
                                         : "0d must be followed by exactly 16 hexadecimal digits");
    }
    Token token = Finish(TokenKind::kFloat, where, begin);
    token.bits = bits;
    token.is_single = is_single;
    return token;
  }
  int base = 10;
  if (text_[begin] == '0') {
    const char next = Peek(1);
    if (next == 'x' || next == 'X') {
      base = 16;
      position_ += 2;
    } else if (next == 'b' || next == 'B') {
      base = 2;
      position_ += 2;
    } else if (IsDigit(next)) {
      base = 8;
      position_ += 1;
    }
  }
  const size_t digits_begin = position_;
  uint64_t value = 0;
  bool overflow = false;
  bool bad_digit = false;
  for (; HexDigit(Peek()) < (base == 16 ? 16 : 10); ++position_) {
    const auto digit = static_cast<uint64_t>(HexDigit(Peek()));
    bad_digit |= digit >= static_cast<uint64_t>(base);
    overflow |= value > (UINT64_MAX - digit) / static_cast<uint64_t>(base);
    value = value * static_cast<uint64_t>(base) + digit;
  }
  const char next = Peek();
  const bool exponent =
      (next == 'e' || next == 'E') &&
      (IsDigit(Peek(1)) || ((Peek(1) == '+' || Peek(1) == '-') && IsDigit(Peek(2))));
  if ((base == 10 || base == 8) && (next == '.' || exponent)) {
    if (next == '.') {
      ++position_;
      while (IsDigit(Peek())) ++position_;
    }
    if (Peek() == 'e' || Peek() == 'E') {
      ++position_;
      if (Peek() == '+' || Peek() == '-') ++position_;
      if (!IsDigit(Peek())) return ErrorToken(where, "exponent has no digits");
      while (IsDigit(Peek())) ++position_;
    }
    Token token = Finish(TokenKind::kFloat, where, begin);
    double number = 0;
    const auto result =
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
    // Out of range leaves `number` as it is; PTX rounds such constants to 0 or infinity, which
    // strtod does.
    if (result.ec == std::errc::result_out_of_range) {
      number = std::strtod(std::string(token.text).c_str(), nullptr);
    }
    token.bits = std::bit_cast<uint64_t>(number);
    if (IsNameChar(Peek())) {
      while (IsNameChar(Peek())) ++position_;
      return ErrorToken(where, "malformed number");
    }
    return token;
  }
  const bool no_digits = position_ == digits_begin;
  bool is_unsigned = false;
  if (next == 'U' || next == 'u') {
    is_unsigned = true;
    ++position_;
  }
  if (no_digits || bad_digit || IsNameChar(Peek())) {
    while (IsNameChar(Peek())) ++position_;
    return ErrorToken(where, "malformed number");
  }
  if (overflow) return ErrorToken(where, "integer does not fit in 64 bits");
  Token token = Finish(TokenKind::kInteger, where, begin);
  token.integer = value;
  token.is_unsigned = is_unsigned || value > static_cast<uint64_t>(INT64_MAX);
  return token;
}

bool Lexer::AtColon() {
  if (!SkipSpace()) return false;
  return Peek() == ':' && Peek(1) != ':';
}

void Lexer::TakeMnemonic(const Token& name, std::vector<Word>* words) {
  words->clear();
  words->push_back({name.text, name.where});
  while (true) {
    if (Peek() != '.') {
      // Rarely there is space before a modifier; anything else is an operand.
      if (!IsSpace(Peek()) && Peek() != '/') return;
      if (!SkipSpace() || Peek() != '.') return;
    }
    const Position where = Here();
    const size_t begin = ++position_;
    while (position_ < text_.size()) {
      if (IsNameChar(text_[position_])) {
        ++position_;
      } else if (text_[position_] == ':' && Peek(1) == ':') {
        position_ += 2;
      } else {
        break;
      }
    }
    words->push_back({text_.substr(begin, position_ - begin), where});
  }
}

bool Lexer::TakeBraced(std::string_view* inner) {
  const size_t begin = position_;
  int depth = 1;
  while (position_ < text_.size()) {
    if (!SkipSpace()) return false;
    const char c = Peek();
    if (c == '"') {
      if (StringToken(Here()).kind == TokenKind::kError) return false;
      continue;
    }
    if (position_ >= text_.size()) return false;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) {
      *inner = text_.substr(begin, position_ - begin);
      ++position_;
      return true;
    }
    ++position_;
  }
  return false;
}

}  // namespace kernelsmith::ptx
