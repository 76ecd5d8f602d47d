#include "support/diagnostic.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

TEST(Diagnostic, ShowsPlaceMessageAndCaret) {
  const Diagnostic diagnostic{.where = {"k.ptx", 12, 7},
                              .message = "expected a register, found '}'",
                              .source_line = "  add }, %r1;"};
  EXPECT_EQ(FormatDiagnostic(diagnostic),
            "k.ptx:12:7: error: expected a register, found '}'\n"
            "    add }, %r1;\n"
            "        ^");
}

TEST(Diagnostic, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(FormatDiagnostic({.message = "m"}), "error: m");
  EXPECT_EQ(FormatDiagnostic({.severity = Severity::kWarning, .where = {"f"}, .message = "m"}),
            "f: warning: m");
  EXPECT_EQ(FormatDiagnostic({.severity = Severity::kNote, .where = {"f", 3}, .message = "m"}),
            "f:3: note: m");
}

TEST(Diagnostic, CaretFollowsTabsAndStaysOnTheLine) {
  EXPECT_EQ(FormatDiagnostic({.where = {"f", 1, 3}, .message = "m", .source_line = "\tab"}),
            "f:1:3: error: m\n  \tab\n  \t ^");
  EXPECT_EQ(FormatDiagnostic({.where = {"f", 1, 99}, .message = "m", .source_line = "ab"}),
            "f:1:99: error: m\n  ab\n    ^");
}

TEST(Diagnostic, CutsLongLinesAroundTheColumn) {
  const std::string line = std::string(5000, 'a') + "X" + std::string(5000, 'b');
  const std::string text =
      FormatDiagnostic({.where = {"f", 1, 5001}, .message = "m", .source_line = line});
  EXPECT_LT(text.size(), 500u);
  const size_t excerpt = text.find('\n') + 1;
  const size_t caret_line = text.find('\n', excerpt) + 1;
  EXPECT_EQ(text[excerpt + (text.size() - 1 - caret_line)], 'X');
}

TEST(Diagnostic, HostileTextCantDriveTheTerminal) {
  EXPECT_EQ(EscapeForTerminal("a\033[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(EscapeForTerminal("\xc2\x9b"), "\\xc2\\x9b");  // C1 control sequence introducer
  EXPECT_EQ(EscapeForTerminal("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(EscapeForTerminal("größer ✓"), "größer ✓");
  EXPECT_EQ(EscapeForTerminal("a\u202eb\u200bc\td\n"), "a\\xe2\\x80\\xaeb\\xe2\\x80\\x8bc\td\\x0a");
}

TEST(LineOf, FindsLines) {
  EXPECT_EQ(LineOf("a\nbc\r\nd", 2), "bc");
  EXPECT_EQ(LineOf("a\nbc\r\nd", 3), "d");
  EXPECT_EQ(LineOf("a", 2), "");
  EXPECT_EQ(LineOf("a", 0), "");
}

}  // namespace
}  // namespace kernelsmith
