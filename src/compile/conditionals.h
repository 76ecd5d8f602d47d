// What a candidate asks its preprocessor. Its text must be the same program for the judge, who has
// light headers, as for the user, who has PyTorch's: where `#if` asks for something, PyTorch's
// headers decide, and what nobody can decide is refused.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/own_headers.h"
#include "support/diagnostic.h"

namespace kernelsmith {

// The first thing in `text` that has another value wherever it is compiled, or that only the light
// headers have: the time of day, __COUNTER__, paths of this machine, names of ours. `file` is for
// the message.
std::optional<Diagnostic> DependsOnPlace(std::string_view text, const std::string& file);

// One `#if`, `#elif` and so on of a file.
struct Conditional {
  int first_line = 0;  // lines that it spans
  int last_line = 0;
  bool asks = false;  // it has a condition; #else and #endif have none
  bool elif = false;
};
std::vector<Conditional> ConditionalsOf(std::string_view text);

// `text` with a line behind each conditional that survives where the lines behind it do:
// `mark` and the conditional's number. Numbers of lines stay as they are.
std::string Marked(std::string_view text, const std::string& mark);

// How often each mark is in what a preprocessor left, by "mark" + number.
using MarkCounts = std::map<std::string, int>;
MarkCounts CountMarks(std::string_view preprocessed, const std::string& prefix);

// `text` whose conditionals are true or false as `decisions` says, by their number; others stay.
std::string Decided(std::string_view text, const std::map<size_t, bool>& decisions);

}  // namespace kernelsmith
