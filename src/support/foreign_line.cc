#include "support/foreign_line.h"

#include "support/foreign_text.h"

namespace kernelsmith {

std::string OneForeignLine(std::string_view text, size_t limit) {
  const std::string clean = CleanForeignText(text, limit);
  std::string line;
  line.reserve(clean.size());
  for (const char c : clean) {
    const char plain = c == '\n' || c == '\t' ? ' ' : c;
    if (plain == ' ' && (line.empty() || line.back() == ' ')) continue;
    line += plain;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string QuoteForeign(std::string_view text, size_t limit) {
  std::string quoted = "\"";
  for (const char c : OneForeignLine(text, limit)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace kernelsmith
