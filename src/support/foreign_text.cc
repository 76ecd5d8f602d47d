#include "support/foreign_text.h"

#include <cstdint>

namespace kernelsmith {
namespace {

struct Character {
  uint32_t code = 0;
  size_t size = 0;  // 0: the bytes are no UTF-8
};

Character Decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  uint32_t code = first & (0x7f >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  // Longer than needed, halves of UTF-16 pairs, beyond Unicode.
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[size] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return {};
  return {code, size};
}

bool IsHidden(uint32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0) ||
         code == 0xad || code == 0x61c || code == 0x180e ||  // soft hyphen, Arabic mark, separator
         (code >= 0x200b && code <= 0x200f) ||               // no width, marks of direction
         (code >= 0x2028 && code <= 0x202e) ||               // line ends, embeddings, overrides
         (code >= 0x2060 && code <= 0x206f) ||               // joiners, isolates
         code == 0xfeff || (code >= 0xfff0 && code <= 0xfffb) ||
         (code >= 0xfe00 && code <= 0xfe0f) ||                   // variants of the character before
         (code >= 0xe0000 && code <= 0xe0fff) ||                 // tags and more variants
         (code >= 0xe000 && code <= 0xf8ff) || code >= 0xf0000;  // private use
}

// How many bytes the escape sequence at the beginning of `text` has (ECMA-48): ESC [ ... letter,
// ESC ] ... (BEL or ESC \) and its relatives, ESC and one more.
size_t EscapeSize(std::string_view text) {
  if (text.size() < 2) return 1;
  size_t at = 2;
  switch (text[1]) {
    case '[':
      while (at < text.size() && text[at] >= 0x20 && text[at] < 0x40) ++at;
      return at < text.size() && text[at] >= 0x40 ? at + 1 : at;
    case ']':
    case 'P':
    case 'X':
    case '^':
    case '_':
      for (; at < text.size() && text[at] != '\n'; ++at) {
        if (text[at] == '\a') return at + 1;
        if (text[at] == '\x1b') return at + 1 < text.size() && text[at + 1] == '\\' ? at + 2 : at;
      }
      return at;
    default:
      return text[1] >= 0x20 && text[1] < 0x7f ? 2 : 1;
  }
}

}  // namespace

size_t HiddenCharacter(std::string_view text) {
  if (text.empty()) return 0;
  const Character character = Decode(text);
  return character.size != 0 && IsHidden(character.code) ? character.size : 0;
}

std::string CleanForeignText(std::string_view text, size_t limit) {
  constexpr std::string_view kCut = " [...]";
  std::string clean;
  size_t fits = 0;  // how much of `clean` may stay if it must be cut
  while (!text.empty()) {
    size_t size = 1;
    if (text[0] == '\x1b') {
      size = EscapeSize(text);
    } else {
      const Character character = Decode(text);
      size = character.size == 0 ? 1 : character.size;
      if (character.size != 0 && !IsHidden(character.code)) clean.append(text.substr(0, size));
    }
    text.remove_prefix(size);
    if (clean.size() > limit) {
      clean.resize(fits);
      return limit >= kCut.size() ? clean.append(kCut) : clean;
    }
    if (clean.size() + kCut.size() <= limit) fits = clean.size();
  }
  return clean;
}

}  // namespace kernelsmith
