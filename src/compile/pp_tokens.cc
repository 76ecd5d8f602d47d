#include "compile/pp_tokens.h"

#include <cctype>

namespace kernelsmith {
namespace {

using Kind = PpToken::Kind;

bool IsNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsNamePart(char c) { return IsNameStart(c) || (c >= '0' && c <= '9'); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<PpToken> Run() {
    SkipSplices();
    while (at_ < text_.size()) Next();
    if (tokens_.empty() || tokens_.back().kind != Kind::kEndOfLine) Add(Kind::kEndOfLine, "\n");
    return std::move(tokens_);
  }

 private:
  // The character here; 0 at the end. Splices are never seen.
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char Take() {
    const char c = Peek();
    if (c == '\n') ++line_;
    ++at_;
    SkipSplices();
    return c;
  }
  // GCC and clang also join lines where spaces follow the backslash.
  void SkipSplices() {
    while (Peek() == '\\') {
      size_t end = at_ + 1;
      while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t' || text_[end] == '\r' ||
                                    text_[end] == '\f' || text_[end] == '\v')) {
        ++end;
      }
      if (end >= text_.size() || text_[end] != '\n') return;
      at_ = end + 1;
      ++line_;
    }
  }
  char After() const {
    Lexer copy(text_);
    copy.at_ = at_ + 1;
    copy.SkipSplices();
    return copy.Peek();
  }

  void Add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), first_line_}); }

  void Next() {
    first_line_ = line_;
    const char c = Peek();
    if (c == '\n') {
      Add(Kind::kEndOfLine, "\n");
      Take();
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      Take();
    } else if (c == '/' && After() == '/') {
      while (at_ < text_.size() && Peek() != '\n') Take();
    } else if (c == '/' && After() == '*') {
      Take();
      Take();
      while (at_ < text_.size() && !(Peek() == '*' && After() == '/')) Take();
      Take();
      Take();
    } else if ((c == '<' || c == '"') && ExpectsHeader()) {
      Header(c == '<' ? '>' : '"');
    } else if (IsNameStart(c)) {
      std::string name;
      while (IsNamePart(Peek())) name += Take();
      const bool prefix = name == "R" || name == "L" || name == "u" || name == "U" ||
                          name == "u8" || name == "LR" || name == "uR" || name == "UR" ||
                          name == "u8R";
      if (prefix && Peek() == '"' && name.back() == 'R') {
        Raw(std::move(name));
      } else if (prefix && (Peek() == '"' || Peek() == '\'')) {
        Quoted(std::move(name));
      } else {
        Add(Kind::kIdentifier, std::move(name));
      }
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
               (c == '.' && std::isdigit(static_cast<unsigned char>(After())) != 0)) {
      Number();
    } else if (c == '"' || c == '\'') {
      Quoted("");
    } else {
      Punctuator();
    }
  }

  void Number() {
    std::string text;
    while (true) {
      const char c = Peek();
      if ((c == '+' || c == '-') && !text.empty() &&
          std::string_view("eEpP").find(text.back()) != std::string_view::npos) {
        text += Take();
      } else if (IsNamePart(c) || c == '.' || (c == '\'' && IsNamePart(After()))) {
        text += Take();
      } else {
        break;
      }
    }
    Add(Kind::kNumber, std::move(text));
  }

  void Quoted(std::string text) {
    const char quote = Peek();
    text += Take();
    while (at_ < text_.size() && Peek() != '\n') {
      const char c = Take();
      text += c;
      if (c == '\\' && at_ < text_.size() && Peek() != '\n') {
        text += Take();
      } else if (c == quote) {
        break;
      }
    }
    Add(quote == '"' ? Kind::kString : Kind::kCharacter, std::move(text));
  }

  // In raw strings nothing is joined.
  void Raw(std::string text) {
    const size_t open = text_.find('(', at_);
    const size_t length = open == std::string_view::npos ? 0 : open - at_ - 1;
    if (open == std::string_view::npos || length > 16) return Quoted(std::move(text));
    const std::string end = ")" + std::string(text_.substr(at_ + 1, length)) + "\"";
    size_t close = text_.find(end, open);
    close = close == std::string_view::npos ? text_.size() : close + end.size();
    for (; at_ < close; ++at_) {
      if (text_[at_] == '\n') ++line_;
      text += text_[at_];
    }
    SkipSplices();
    Add(Kind::kString, std::move(text));
  }

  void Header(char end) {
    std::string text;
    text += Take();
    while (at_ < text_.size() && Peek() != '\n') {
      text += Take();
      if (text.back() == end) break;
    }
    Add(Kind::kHeaderName, std::move(text));
  }

  bool ExpectsHeader() const {
    const size_t count = tokens_.size();
    const auto is = [&](size_t back, std::string_view word) {
      return back <= count && tokens_[count - back].Is(word);
    };
    const auto any = [&](size_t back, auto... words) { return (is(back, words) || ...); };
    if (any(1, "include", "include_next", "import", "embed", "dependency")) {
      // `dependency` is GCC's pragma. The word must belong to a directive.
      size_t first = count - 1;
      while (first > 0 && tokens_[first - 1].kind != Kind::kEndOfLine) --first;
      return tokens_[first].Is("#");
    }
    return is(1, "(") && any(2, "__has_include", "__has_include_next", "__has_embed");
  }

  void Punctuator() {
    char c = Take();
    if (c == '%' && Peek() == ':') {
      Take();
      c = '#';
    } else if (c == '<' && Peek() == '%') {
      Take();
      c = '{';
    } else if (c == '%' && Peek() == '>') {
      Take();
      c = '}';
    }
    if (c == '#' && (Peek() == '#' || (Peek() == '%' && After() == ':'))) {
      if (Take() == '%') Take();
      return Add(Kind::kPunctuator, "##");
    }
    Add(Kind::kPunctuator, std::string(1, c));
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int first_line_ = 1;
  std::vector<PpToken> tokens_;
};

}  // namespace

std::vector<PpToken> PpTokens(std::string_view text) { return Lexer(text).Run(); }

}  // namespace kernelsmith
