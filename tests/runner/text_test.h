// A text test: one file with its own commands and what they must print. See docs/testing.md.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kernelsmith {

// What the directives of a test file say.
struct TextTest {
  std::vector<std::string> runs;                // RUN: commands, in order
  std::optional<std::string> nvcc_flags;        // NVCC: build this file with nvcc first, as %x
  int exit_code = 0;                            // EXIT: of the last command; the others must give 0
  std::optional<std::vector<std::string>> out;  // OUT: lines of standard output; none: not checked
  std::optional<std::vector<std::string>> err;  // ERR: lines of standard error; none: not checked
  int timeout_seconds = 120;                    // TIMEOUT:
};

// Reads the directives: lines that begin with '//' or '#', then a directive's name and a colon; the
// lines below OUT: and ERR: that begin with '// |' or '# |' are the expectation.
Result<TextTest> ParseTextTest(std::string_view text, const std::string& file_name);

// Whether an expected line fits: literally, with {{regular expressions}} in between.
bool LineMatches(const std::string& expected, const std::string& actual);

// An empty string if all lines fit, else a short difference for a person.
std::string CompareLines(const std::vector<std::string>& expected,
                         const std::vector<std::string>& actual);

// The file with its OUT and ERR blocks replaced by what was printed. Expected lines that still
// match are kept, so that {{...}} survives.
std::string Rebase(std::string_view text, const std::vector<std::string>& out,
                   const std::vector<std::string>& err, int exit_code);

std::vector<std::string> SplitLines(std::string_view text);

// `command` with %name replaced by its value from `values`, longest name first; %% is a percent
// sign.
std::string Substitute(std::string_view command, const std::map<std::string, std::string>& values);

}  // namespace kernelsmith
