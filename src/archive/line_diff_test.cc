#include "archive/line_diff.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "support/rng.h"
#include "support/subprocess.h"

namespace kernelsmith {
namespace {

TEST(LineDiff, IsEmptyForEqualTexts) {
  EXPECT_EQ(UnifiedDiff("a", "", "b", ""), "");
  EXPECT_EQ(UnifiedDiff("a", "x\ny\n", "b", "x\ny\n"), "");
}

TEST(LineDiff, ShowsAChangeWithItsContext) {
  EXPECT_EQ(UnifiedDiff("a", "1\n2\n3\n4\n5\n6\n7\n8\n", "b", "1\n2\n3\n4\nfive\n6\n7\n8\n", 1),
            "--- a\n+++ b\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n");
}

TEST(LineDiff, SaysThatALineHasNoEnd) {
  EXPECT_EQ(UnifiedDiff("a", "1", "b", "1\n"),
            "--- a\n+++ b\n@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+1\n");
}

TEST(LineDiff, FillsAnEmptyText) {
  EXPECT_EQ(UnifiedDiff("a", "", "b", "1\n2\n"), "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+1\n+2\n");
}

// The judge is another program: git takes the difference as a patch, which must make the new text
// of the old one.
TEST(LineDiff, PatchesOldTextsIntoNewOnes) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "line_diff_test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  Rng rng(7);
  std::string patch;
  std::vector<std::string> wanted;
  for (int i = 0; i < 60; ++i) {
    const auto draw = [&] {
      std::string text;
      for (uint64_t lines = rng.Below(30); lines > 0; --lines) {
        text += std::string(1, static_cast<char>('a' + rng.Below(4))) + "\n";
      }
      if (!text.empty() && rng.Below(4) == 0) text.pop_back();
      return text;
    };
    std::string before;
    while (before.empty()) before = draw();  // git wants new files announced in another way
    std::string after;
    while (after.empty()) after = draw();
    const std::string name = "f" + std::to_string(i);
    std::ofstream(folder / name) << before;
    patch += UnifiedDiff("a/" + name, before, "b/" + name, after, static_cast<int>(rng.Below(4)));
    wanted.push_back(after);
  }
  std::ofstream(folder / "all.patch") << patch;
  SystemProcessRunner processes;
  const Result<ProcessResult> result =
      processes.Run({.argv = {"git", "apply", "--unidiff-zero", "all.patch"}, .directory = folder});
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->exit_code, 0) << result->err;
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::ifstream file(folder / ("f" + std::to_string(i)));
    const std::string got((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(got, wanted[i]) << i;
  }
}

}  // namespace
}  // namespace kernelsmith
