#include "support/json.h"

#include <gtest/gtest.h>

#include "support/hash.h"

namespace kernelsmith {
namespace {

TEST(Json, CommentsAreAllowed) {
  const auto parsed = ParseJson("{\"a\": 1 /* one */}", "a.json");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ((*parsed)["a"], 1);
}

TEST(Json, ErrorsHaveTheirPlace) {
  const auto parsed = ParseJson("{\n  \"a\": ]\n}", "a.json");
  ASSERT_FALSE(parsed.ok());
  const Diagnostic& diagnostic = parsed.error().diagnostics().front();
  EXPECT_EQ(diagnostic.where.file, "a.json");
  EXPECT_EQ(diagnostic.where.line, 2);
  EXPECT_EQ(diagnostic.source_line, "  \"a\": ]");
}

TEST(Hash, IsSha256) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace kernelsmith
