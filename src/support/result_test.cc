#include "support/result.h"

#include <gtest/gtest.h>

#include <memory>

#include "support/exit_code.h"

namespace kernelsmith {
namespace {

Result<int> Half(int x) {
  if (x % 2 != 0) return InvalidInput("odd");
  return x / 2;
}

Result<int> Quarter(int x) {
  KS_TRY(const int half, Half(x));
  return Half(half);
}

Status Check(int x) {
  KS_RETURN_IF_ERROR(Half(x));
  return {};
}

TEST(Result, CarriesValueOrError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).error().message(), "odd");
  EXPECT_TRUE(Check(2).ok());
  EXPECT_EQ(Check(1).error().kind(), ErrorKind::kInvalidInput);
}

TEST(Result, TakesValuesThatOnlyMove) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 5);
}

TEST(Result, FormatsAllDiagnostics) {
  const Error error(ErrorKind::kInvalidInput,
                    std::vector<Diagnostic>{{.message = "one"}, {.message = "two"}});
  EXPECT_EQ(error.Format(), "error: one\nerror: two");
}

TEST(Result, KindsHaveTheirExitCodes) {
  EXPECT_EQ(ExitCodeOf(ErrorKind::kInvalidInput), 2);
  EXPECT_EQ(ExitCodeOf(ErrorKind::kUnsupported), 3);
  EXPECT_EQ(ExitCodeOf(ErrorKind::kMissingTool), 3);
  EXPECT_EQ(ExitCodeOf(ErrorKind::kTimeout), 3);
  EXPECT_EQ(ExitCodeOf(ErrorKind::kInternal), 4);
}

#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer) && \
    !__has_feature(thread_sanitizer)
TEST(CheckDeathTest, LeavesWithTheInternalErrorCode) {
  EXPECT_EXIT(KS_CHECK(1 == 2, "why"), testing::ExitedWithCode(4), "internal error: .*1 == 2: why");
}
#endif

}  // namespace
}  // namespace kernelsmith
