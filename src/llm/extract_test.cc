#include "llm/extract.h"

#include <gtest/gtest.h>

namespace kernelsmith::llm {
namespace {

const std::string kKernel = "__global__ void K(float* x) { x[threadIdx.x] = 1; }\n";
const std::string kHost =
    "torch::Tensor forward(torch::Tensor x) {\n  K<<<1, 32>>>(nullptr);\n  return x;\n}\n";
const std::string kFile = "#include <torch/extension.h>\n" + kKernel + kHost;

std::string Block(const std::string& code, const std::string& language = "cuda") {
  return "```" + language + "\n" + code + "```\n";
}

ExtractedCode Extract(const std::string& text, StopReason reason = StopReason::kEnd) {
  return ExtractCuda({.text = text, .stop_reason = reason}, "forward");
}

void ExpectCode(const std::string& text, Extraction outcome, const std::string& code) {
  const ExtractedCode result = Extract(text);
  EXPECT_STREQ(Name(result.outcome), Name(outcome)) << text;
  EXPECT_EQ(result.code, code);
  EXPECT_TRUE(HasCode(result.outcome));
}

void ExpectNone(const std::string& text, Extraction outcome, StopReason reason = StopReason::kEnd) {
  const ExtractedCode result = Extract(text, reason);
  EXPECT_STREQ(Name(result.outcome), Name(outcome)) << text;
  EXPECT_EQ(result.code, "");
  EXPECT_FALSE(HasCode(result.outcome));
}

TEST(ExtractCuda, OneBlock) {
  ExpectCode("Here it is:\n\n" + Block(kFile) + "It is fast.", Extraction::kCode, kFile);
  ExpectCode("  ~~~ {.cpp}\n" + kFile + "  ~~~~\n", Extraction::kCode, kFile);
  ExpectCode(Block(kFile, "C++ title=x"), Extraction::kCode, kFile);
  // Blocks of other languages are no candidates, whatever they hold.
  ExpectCode(Block("nvcc k.cu\n", "bash") + Block(kFile) + Block("import torch\n", "python"),
             Extraction::kCode, kFile);
  // A snippet that shows a part of the file does not replace it.
  ExpectCode(Block("x[threadIdx.x] = 1;\n") + Block(kFile), Extraction::kCode, kFile);
  // Fences inside a longer fence, and in strings and comments.
  const std::string odd =
      "// ```\nconst char* s = \"{ ( /* \";\nconst auto r = R\"x(}\")x\";\n"
      "const int n = 1'000; /* } */ const char c = '{';\n" +
      kFile;
  ExpectCode("````cuda\n" + odd + "````\n", Extraction::kCode, odd);
}

TEST(ExtractCuda, SeveralBlocks) {
  const std::string second = "// better\n" + kFile;
  ExpectCode(Block(kFile) + "A race. Corrected:\n" + Block(second), Extraction::kLastOfSeveral,
             second);
  ExpectCode("The kernel:\n" + Block(kKernel) + "The host:\n" + Block(kHost), Extraction::kJoined,
             kKernel + kHost);
  const std::string host = "#include <torch/extension.h>\n" + kHost;
  ExpectCode(Block(kKernel) + Block(host), Extraction::kJoined, kKernel + host);
}

TEST(ExtractCuda, WithoutFences) {
  ExpectCode(kFile, Extraction::kBare, kFile);
  ExpectNone("", Extraction::kProse);
  ExpectNone("I can't help with that.", Extraction::kProse);
  ExpectNone("Use a __global__ function and #include <torch/extension.h>.", Extraction::kProse);
  ExpectNone("Run `nvcc`:\n" + Block("nvcc k.cu\n", "bash"), Extraction::kProse);
  ExpectNone(kFile.substr(0, kFile.size() - 5), Extraction::kCut);
  ExpectNone("#include <a.h>\n__global__ void K() {}\n", Extraction::kWrongFunction);
}

// Every beginning of an answer is cut or prose, never a file.
TEST(ExtractCuda, HalfAFileIsNeverTaken) {
  const std::string answer = "Here:\n" + Block(kFile);
  for (size_t length = 0; length + 4 < answer.size(); ++length) {
    const ExtractedCode result = Extract(answer.substr(0, length), StopReason::kLength);
    EXPECT_FALSE(HasCode(result.outcome)) << answer.substr(0, length);
  }
  ExpectNone(Block(kFile) + "Corrected:\n```cuda\n#include", Extraction::kCut, StopReason::kLength);
  ExpectNone(Block(kFile.substr(0, kFile.size() - 5)), Extraction::kCut);
  ExpectNone(Block(kFile + "/* and"), Extraction::kCut);
}

TEST(ExtractCuda, WrongFunction) {
  const std::string other = kKernel + "torch::Tensor run(torch::Tensor x) { return forward(x); }\n";
  ExpectNone(Block(other), Extraction::kWrongFunction);
  ExpectNone(
      Block(kKernel + "// forward(torch::Tensor x) {\nint my_forward(int x) { return x; }\n"),
      Extraction::kWrongFunction);
  ExpectNone(Block(kKernel + "torch::Tensor forward(torch::Tensor x);\n"),
             Extraction::kWrongFunction);
  EXPECT_EQ(ExtractCuda({.text = Block(kKernel)}, "").outcome, Extraction::kCode);
}

TEST(ExtractCuda, OutcomesAreCounted) {
  ExtractionTally tally;
  EXPECT_EQ(tally.Text(), "");
  for (const std::string& each : {Block(kFile), std::string("no"), Block(kFile)}) {
    tally.Add(Extract(each).outcome);
  }
  EXPECT_EQ(tally.Text(), "2 code, 1 prose");
  EXPECT_EQ(tally.Count(Extraction::kCut), 0);
}

}  // namespace
}  // namespace kernelsmith::llm
