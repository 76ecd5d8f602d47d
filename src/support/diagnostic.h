// What is wrong with an input, and where: the only way the product tells a user about bad input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelsmith {

// A place in a text the user can open. line and column count from 1; 0 means "not known".
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;

  bool operator==(const SourceLocation&) const = default;
};

enum class Severity { kNote, kWarning, kError };

// Messages are lower case, without a full stop, and say what was expected where that helps:
//   kernel.ptx:12:7: error: expected a register, found '}'
struct Diagnostic {
  Severity severity = Severity::kError;
  SourceLocation where;
  std::string message;
  std::string source_line;  // the text of where.line; empty: no caret is printed
};

// "file:line:col: error: message", then the source line and a caret below the column where the line
// is known. Control characters in user text are shown escaped, so a hostile file can't drive the
// terminal.
std::string FormatDiagnostic(const Diagnostic& diagnostic, bool color = false);

// The `line`-th (from 1) line of `text`, without its end; empty if there is none.
std::string_view LineOf(std::string_view text, int line);

// Control characters and invalid UTF-8 as \xNN, everything else as it is.
std::string EscapeForTerminal(std::string_view text);

}  // namespace kernelsmith
