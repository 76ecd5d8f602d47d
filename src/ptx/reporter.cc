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
  // In the order of the text; of one place, in the order found.
  std::vector<size_t> order(diagnostics_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const SourceLocation& first = diagnostics_[a].where;
    const SourceLocation& second = diagnostics_[b].where;
    return std::tie(first.line, first.column, a) < std::tie(second.line, second.column, b);
  });
  std::vector<Diagnostic> sorted;
  for (const size_t i : order) sorted.push_back(std::move(diagnostics_[i]));
  for (Diagnostic& diagnostic : sorted) {
    const std::string_view line = LineOf(text_, diagnostic.where.line);
    if (line.size() <= kLongestShownLine) diagnostic.source_line = line;
  }
  return {invalid_ ? ErrorKind::kInvalidInput : ErrorKind::kUnsupported, std::move(sorted)};
}

}  // namespace kernelsmith::ptx
