// docs/findings.md explains the kinds of src/support/finding_kinds.def: neither has one that the
// other has not, and both say the same of it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "support/finding_kind.h"

namespace kernelsmith {
namespace {

// The text below each "### word", with line ends as spaces.
std::map<std::string, std::string> Sections() {
  std::map<std::string, std::string> sections;
  std::ifstream in(KS_SOURCE_DIR "/docs/findings.md");
  std::string* open = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("### ")) {
      const auto [it, added] = sections.emplace(line.substr(4), "");
      EXPECT_TRUE(added) << line << " is there twice";
      open = &it->second;
    } else if (line.starts_with("#")) {
      open = nullptr;
    } else if (open != nullptr) {
      *open += line + " ";
    }
  }
  return sections;
}

TEST(FindingsDocument, HasASectionForEveryKind) {
  const std::map<std::string, std::string> sections = Sections();
  for (const FindingKindRow& row : FindingKinds()) {
    const auto found = sections.find(row.word);
    ASSERT_NE(found, sections.end()) << "docs/findings.md has no section ### " << row.word;
    const std::string& text = found->second;
    const char* severity = row.severity == Severity::kError     ? "Error. "
                           : row.severity == Severity::kWarning ? "Warning. "
                                                                : "Note. ";
    EXPECT_TRUE(text.starts_with(severity + std::string(row.meaning) + " "))
        << row.word << ": the section does not begin with: " << severity << row.meaning;
    EXPECT_NE(text.find("      "), std::string::npos) << row.word << " has no example";
    EXPECT_TRUE(text.ends_with(std::string(row.advice) + "  ") ||
                text.ends_with(std::string(row.advice) + " "))
        << row.word << ": the section does not end with: " << row.advice;
  }
}

TEST(FindingsDocument, HasNoSectionWithoutAKind) {
  const std::map<std::string, std::string> sections = Sections();
  EXPECT_FALSE(sections.empty());
  for (const auto& [word, text] : sections) {
    const auto kind = FindingKindOf(word);
    EXPECT_TRUE(kind && word == Name(*kind)) << "no row of finding_kinds.def has the word " << word;
  }
}

}  // namespace
}  // namespace kernelsmith
