#include "support/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "support/foreign_text.h"

namespace kernelsmith {
namespace {

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "error";
}

// The number of bytes of the well-formed UTF-8 character at the start of `text`; 0 if there is
// none.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : (first & 0xF0) == 0xE0        ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// Long generated lines (a megabyte of PTX on one line) are cut around the column.
constexpr size_t kMaxExcerpt = 160;

}  // namespace

std::string_view LineOf(std::string_view text, int line) {
  for (int current = 1; current < line; ++current) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  if (line < 1) return {};
  std::string_view found = text.substr(0, text.find('\n'));
  if (found.ends_with('\r')) found.remove_suffix(1);
  return found;
}

std::string EscapeForTerminal(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const auto first = static_cast<uint8_t>(text[0]);
    if (length == 0 || first == '\n' || HiddenCharacter(text) > 0) {
      const size_t bytes = std::max<size_t>(length, 1);
      for (size_t i = 0; i < bytes; ++i) {
        fmt::format_to(std::back_inserter(escaped), "\\x{:02x}", static_cast<uint8_t>(text[i]));
      }
      text.remove_prefix(bytes);
      continue;
    }
    escaped.append(text.substr(0, length));
    text.remove_prefix(length);
  }
  return escaped;
}

std::string FormatDiagnostic(const Diagnostic& diagnostic, bool color) {
  const SourceLocation& where = diagnostic.where;
  std::string text;
  if (!where.file.empty()) {
    text += EscapeForTerminal(where.file) + ':';
    if (where.line > 0) text += fmt::format("{}:", where.line);
    if (where.line > 0 && where.column > 0) text += fmt::format("{}:", where.column);
    text += ' ';
  }
  const std::string_view name = SeverityName(diagnostic.severity);
  const char* tint = diagnostic.severity == Severity::kError     ? "\033[1;31m"
                     : diagnostic.severity == Severity::kWarning ? "\033[1;33m"
                                                                 : "\033[1;36m";
  text += color ? fmt::format("{}{}:\033[0m ", tint, name) : fmt::format("{}: ", name);
  text += EscapeForTerminal(diagnostic.message);
  if (diagnostic.source_line.empty() || where.column < 1) return text;

  std::string_view line = diagnostic.source_line;
  size_t column = std::min<size_t>(where.column - 1, line.size());
  if (line.size() > kMaxExcerpt) {
    const size_t start = column > kMaxExcerpt / 2 ? column - kMaxExcerpt / 2 : 0;
    line = line.substr(start, kMaxExcerpt);
    column -= start;
  }
  text += "\n  " + EscapeForTerminal(line) + "\n  ";
  // Tabs are kept in front of the caret, so that it stands right whatever the terminal's tab width.
  for (const char c : line.substr(0, column)) text += c == '\t' ? '\t' : ' ';
  return text + (color ? "\033[1;32m^\033[0m" : "^");
}

}  // namespace kernelsmith
