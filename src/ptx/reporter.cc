#include "ptx/reporter.h"

#include <algorithm>
#include <tuple>

namespace kernelsmith::ptx {
namespace {

// A hostile file may be one line of many megabytes; its diagnostics must not repeat it.
constexpr size_t kLongestShownLine = 400;

}  // namespace

void Reporter::Add(Position where, std::string message) {
  if (full()) return;
  diagnostics_.push_back({.severity = Severity::kError,
                          .where = {file_name_, where.line, where.column},
                          .message = std::move(message)});
}

void Reporter::Invalid(Position where, std::string message) {
  invalid_ = true;
  Add(where, std::move(message));
}

void Reporter::Unknown(Position where, std::string message) { Add(where, std::move(message)); }

Error Reporter::TakeError() {
  std::sort(diagnostics_.begin(), diagnostics_.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.where.line, a.where.column, a.message) <
           std::tie(b.where.line, b.where.column, b.message);
  });
  for (Diagnostic& diagnostic : diagnostics_) {
    const std::string_view line = LineOf(text_, diagnostic.where.line);
    if (line.size() <= kLongestShownLine) diagnostic.source_line = line;
  }
  return {invalid_ ? ErrorKind::kInvalidInput : ErrorKind::kUnsupported, std::move(diagnostics_)};
}

}  // namespace kernelsmith::ptx
