// Text that a stranger wrote, or had a program write, on its way to a terminal, a report or a
// model.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kernelsmith {

// `text` without what could act on its reader: escape sequences of terminals, control characters
// other than line ends and tabs, bytes that are no UTF-8, and characters that change the direction
// of writing or can't be seen. At most `limit` bytes, cut between characters and marked as cut.
std::string CleanForeignText(std::string_view text, size_t limit);

// The bytes of the character at the beginning of `text` if it changes the direction of writing,
// can't be seen or steers a terminal (escape sequences are not looked at); otherwise 0.
size_t HiddenCharacter(std::string_view text);

}  // namespace kernelsmith
