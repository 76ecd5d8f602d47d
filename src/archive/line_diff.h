// The difference of two texts, line by line, as `diff -u` prints it.
#pragma once

#include <string>
#include <string_view>

namespace kernelsmith {

// Empty if the texts are the same. `context` lines stand around each change.
std::string UnifiedDiff(std::string_view old_name, std::string_view old_text,
                        std::string_view new_name, std::string_view new_text, int context = 3);

}  // namespace kernelsmith
