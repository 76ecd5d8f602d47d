#include "support/json.h"

#include <algorithm>

namespace kernelsmith {

Result<nlohmann::json> ParseJson(std::string_view text, const std::string& file) {
  try {
    return nlohmann::json::parse(text, nullptr, true, /*ignore_comments=*/true);
  } catch (const nlohmann::json::parse_error& error) {
    const size_t byte = std::min(text.size(), error.byte > 0 ? error.byte - 1 : 0);
    const std::string_view before = text.substr(0, byte);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t line_start =
        before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    // The library's text starts with a code and repeats the place; what it expected comes last.
    std::string message = error.what();
    if (const size_t colon = message.find(": "); colon != std::string::npos) {
      message = message.substr(colon + 2);
    }
    return Error(
        ErrorKind::kInvalidInput,
        Diagnostic{.where = {file, static_cast<int>(line), static_cast<int>(byte - line_start + 1)},
                   .message = "malformed JSON: " + message,
                   .source_line = std::string(LineOf(text, static_cast<int>(line)))});
  }
}

}  // namespace kernelsmith
