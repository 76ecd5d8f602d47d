#include "compile/source_style.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

TEST(SourceStyle, CommentsAndStringsAreBlanked) {
  EXPECT_EQ(BlankComments("a // b\nc /* d\n */ e \"f\\\"g\" 'h'"),
            "a     \nc     \n    e \"\" ' '");
  EXPECT_EQ(BlankComments("R\"x(a // )x\" b"), "R\"\" b");
}

TEST(SourceStyle, PybindNeedsNothing) {
  const auto style = StyleOf("#include <torch/extension.h>\nPYBIND11_MODULE(a, m) {}\n", "k.cu");
  ASSERT_TRUE(style.ok());
  EXPECT_EQ(style->style, CandidateStyle::kTorch);
  EXPECT_EQ(style->suffix, "");
}

TEST(SourceStyle, ForwardWithoutModuleIsRegistered) {
  const auto style = StyleOf(
      "#include <torch/extension.h>\n// PYBIND11_MODULE\ntorch::Tensor forward(torch::Tensor x);",
      "k.cu");
  ASSERT_TRUE(style.ok());
  EXPECT_NE(style->suffix.find("m.def(\"forward\", &forward);"), std::string::npos);
  EXPECT_EQ(style->suffix.find("backward"), std::string::npos);
}

TEST(SourceStyle, Launcher) {
  const auto style = StyleOf(
      "extern \"C\" __global__ void k(float* x) {}\n"
      "extern \"C\" void launch(const float* x,\n float* out, int n) { k<<<1, 1>>>(out); }\n",
      "k.cu");
  ASSERT_TRUE(style.ok()) << style.error().message();
  EXPECT_EQ(style->style, CandidateStyle::kLauncher);
  EXPECT_NE(style->suffix.find("KS_LAUNCHER(launch, \"const float* x,  float* out, int n\")"),
            std::string::npos);
  EXPECT_EQ(style->suffix.find("KS_LAUNCHER(k"), std::string::npos);
}

TEST(SourceStyle, LauncherInBlock) {
  const auto style = StyleOf(
      "extern \"C\" {\n__global__ void k() { if (1) { } }\nvoid solve(float* a, int n) {\n"
      "  if (n) { k<<<1,1>>>(); }\n}\n}\n",
      "k.cu");
  ASSERT_TRUE(style.ok()) << style.error().message();
  EXPECT_NE(style->suffix.find("KS_LAUNCHER(solve, \"float* a, int n\")"), std::string::npos);
}

TEST(SourceStyle, ACommentIncludesNothing) {
  const std::string launcher = "extern \"C\" void launch(float* x) {}\n";
  for (const char* comment :
       {"// #include <torch/extension.h>\n", "/*\n#include \"torch/extension.h\"\n*/\n",
        "const char* kText = R\"(\n#include <torch/extension.h>\n)\";\n"}) {
    const auto style = StyleOf(comment + launcher, "k.cu");
    ASSERT_TRUE(style.ok()) << comment << style.error().message();
    EXPECT_EQ(style->style, CandidateStyle::kLauncher) << comment;
  }
  const auto torch = StyleOf(
      "#include \"torch/extension.h\"\ntorch::Tensor forward(torch::Tensor x);" + launcher, "k.cu");
  ASSERT_TRUE(torch.ok());
  EXPECT_EQ(torch->style, CandidateStyle::kTorch);
}

TEST(SourceStyle, NothingToCall) {
  EXPECT_FALSE(StyleOf("__global__ void k() {}", "k.cu").ok());
  EXPECT_FALSE(StyleOf("#include <torch/extension.h>\nint x;", "k.cu").ok());
}

TEST(SourceStyle, HalfOfALoadInlinePair) {
  const std::string one =
      "#include <torch/extension.h>\n"
      "static torch::Tensor helper(torch::Tensor x) { return x; }\n"
      "torch::Tensor declared_elsewhere(torch::Tensor x);\n"
      "torch::Tensor add_cuda(torch::Tensor a,\n                       torch::Tensor b) {\n  "
      "return a;\n}\n";
  const auto style = StyleOf(one, "k.cu");
  ASSERT_TRUE(style.ok()) << style.error().Format();
  EXPECT_NE(style->suffix.find("m.def(\"add_cuda\", &add_cuda)"), std::string::npos);
  // Two leave it open which is meant.
  EXPECT_FALSE(
      StyleOf(one + "std::vector<at::Tensor> other(at::Tensor x) { return {x}; }\n", "k.cu").ok());
}

}  // namespace
}  // namespace kernelsmith
