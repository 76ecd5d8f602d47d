// One line of a stranger's text inside of one of ours: a message of a finding, a row of a table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kernelsmith {

// Messages that quote more than this tell nobody more.
inline constexpr size_t kMostForeignLine = 600;

// CleanForeignText on one line: ends of lines and tabs become spaces, so that no line of theirs can
// stand where one of ours is expected.
std::string OneForeignLine(std::string_view text, size_t limit = kMostForeignLine);

// The same in quotation marks, and with theirs escaped: what is between them is not our word.
std::string QuoteForeign(std::string_view text, size_t limit = kMostForeignLine);

}  // namespace kernelsmith
