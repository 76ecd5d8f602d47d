#include "support/finding_kind.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace kernelsmith {
namespace {

TEST(FindingKind, EveryRowIsFoundByItsWordAndItsKind) {
  std::set<std::string> words;
  for (const FindingKindRow& row : FindingKinds()) {
    EXPECT_EQ(&RowOf(row.kind), &row) << row.word;
    EXPECT_EQ(FindingKindOf(row.word), row.kind) << row.word;
    EXPECT_TRUE(words.insert(row.word).second) << row.word << " is there twice";
  }
  EXPECT_FALSE(FindingKindOf("").has_value());
  EXPECT_FALSE(FindingKindOf("a_word_of_nobody").has_value());
}

TEST(FindingKind, WordsAreForProgramsAndSentencesForPeople) {
  for (const FindingKindRow& row : FindingKinds()) {
    for (const char c : std::string(row.word)) {
      EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) != 0 || c == '_') << row.word;
    }
    for (const std::string sentence : {row.meaning, row.advice}) {
      ASSERT_FALSE(sentence.empty()) << row.word;
      EXPECT_TRUE(sentence.ends_with('.')) << row.word << ": " << sentence;
    }
  }
}

// Reports that were written before words became one are still read.
TEST(FindingKind, WordsOfOlderReportsAreUnderstood) {
  EXPECT_EQ(FindingKindOf("uninitialised_read"), FindingKind::kUninitializedRead);
  EXPECT_EQ(FindingKindOf("not_deterministic"), FindingKind::kNondeterministic);
  EXPECT_EQ(FindingKindOf("launch-error"), FindingKind::kLaunchError);
  EXPECT_EQ(CurrentWord("uninitialised_read"), "uninitialized_read");
  EXPECT_EQ(CurrentWord("race"), "race");
  EXPECT_EQ(CurrentWord("a_word_of_nobody"), "a_word_of_nobody");
  EXPECT_STREQ(Name(FindingKind::kNondeterministic), "nondeterministic");
}

TEST(FindingKind, DocumentationIsAnAnchor) {
  EXPECT_EQ(DocumentationOf(FindingKind::kRace), "docs/findings.md#race");
}

}  // namespace
}  // namespace kernelsmith
