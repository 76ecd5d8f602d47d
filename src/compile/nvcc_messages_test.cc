#include "compile/nvcc_messages.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

constexpr const char* kSource = "line one\nint x = y;\n";

TEST(NvccMessages, ErrorOfCudafe) {
  const auto diagnostics = ParseNvccMessages(
      "k.cu(2): error: identifier \"y\" is undefined\n  int x = y;\n", "k.cu", kSource);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].where, (SourceLocation{"k.cu", 2, 0}));
  EXPECT_EQ(diagnostics[0].message, "identifier \"y\" is undefined");
  EXPECT_EQ(diagnostics[0].source_line, "int x = y;");
  EXPECT_EQ(diagnostics[0].severity, Severity::kError);
}

TEST(NvccMessages, WarningWithNumber) {
  const auto diagnostics = ParseNvccMessages(
      "k.cu(2): warning #177-D: variable \"x\" was declared but never referenced\n", "k.cu",
      kSource);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].severity, Severity::kWarning);
  EXPECT_EQ(diagnostics[0].message, "variable \"x\" was declared but never referenced");
}

TEST(NvccMessages, HostCompilerAndNvccItself) {
  const auto diagnostics = ParseNvccMessages(
      "k.cu:2:9: error: 'y' was not declared\nnvcc fatal   : Unknown option '-q'\n", "k.cu",
      kSource);
  ASSERT_EQ(diagnostics.size(), 2u);
  EXPECT_EQ(diagnostics[0].where, (SourceLocation{"k.cu", 2, 9}));
  EXPECT_EQ(diagnostics[1].message, "Unknown option '-q'");
}

TEST(NvccMessages, MissingMemberIsUnsupportedByName) {
  const Error error = CompilationError(
      ParseNvccMessages("k.cu(2): error: class \"at::Tensor\" has no member \"frobnicate\"\n",
                        "k.cu", kSource),
      "");
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.message(), "at::Tensor::frobnicate is not supported by the light torch headers");
  EXPECT_EQ(error.diagnostics()[0].where.line, 2);
}

TEST(NvccMessages, MissingHeaderIsUnsupportedByName) {
  const Error error = CompilationError(
      ParseNvccMessages("k.cu:1:10: fatal error: torch/csrc/odd.h: No such file or directory\n",
                        "k.cu", kSource),
      "");
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.message(), "<torch/csrc/odd.h> is not supported by the light torch headers");
}

TEST(NvccMessages, OrdinaryErrorIsTheUsers) {
  const Error error = CompilationError(
      ParseNvccMessages("k.cu(2): error: identifier \"y\" is undefined\n", "k.cu", kSource), "");
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
}

TEST(NvccMessages, UnknownOutputIsShown) {
  const Error error = CompilationError({}, "Segmentation fault");
  EXPECT_NE(error.message().find("Segmentation fault"), std::string::npos);
}

TEST(NvccMessages, ForgottenHeaderIsTheUsers) {
  const std::string output =
      "k.cu(3): error: identifier \"C10_CUDA_KERNEL_LAUNCH_CHECK\" is undefined\n";
  const Error error = CompilationError(ParseNvccMessages(output, "k.cu", "a\nb\nc\n"), output);
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
  EXPECT_NE(error.Format().find("#include <c10/cuda/CUDAException.h>"), std::string::npos);
}

}  // namespace
}  // namespace kernelsmith
