// Candidates that want to be another program for the judge than for their users.
#include "compile/real_headers.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/testing/real_settings.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHead = "#include <torch/extension.h>\n";
constexpr const char* kTail = R"(
__global__ void k(float* x) { *x = CHOICE; }
torch::Tensor forward(torch::Tensor x) {
  k<<<1, 1>>>(x.data_ptr<float>());
  return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
)";

class RealHeadersTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("ks-real-") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    if (!FindRealHeaders(tools_, processes_, files_).ok()) GTEST_SKIP() << "no PyTorch";
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<CompiledCandidate> Compile(const std::string& text) {
    const fs::path source = folder_ / "k.cu";
    std::ofstream(source) << kHead << text << kTail;
    return compiler_.Compile(source, {.cache = folder_ / "cache"});
  }
  // The number that the kernel stores, as PTX has floats.
  static bool Stores(const CompiledCandidate& candidate, const std::string& bits) {
    return candidate.ptx.find(bits) != std::string::npos;
  }
  static constexpr const char* kOne = "1065353216";  // 1.0f
  static constexpr const char* kTwo = "1073741824";  // 2.0f

  fs::path folder_;
  DiskFileSystem files_;
  SystemProcessRunner processes_;
  ToolFinder tools_{processes_, files_, RealSettings().tools, KS_SOURCE_DIR};
  CandidateCompiler compiler_{files_, processes_, tools_, {}};
};

TEST_F(RealHeadersTest, PyTorchDecides) {
  const auto macro = Compile(
      "#if defined(PYBIND11_VERSION_MAJOR) && TORCH_VERSION_MAJOR >= 2\n#define CHOICE 1.f\n#else\n"
      "#define CHOICE 2.f\n#endif\n");
  ASSERT_TRUE(macro.ok()) << macro.error().Format();
  EXPECT_TRUE(Stores(*macro, kOne)) << macro->ptx;
  EXPECT_FALSE(Stores(*macro, kTwo));
  EXPECT_FALSE(macro->warnings.empty());
  EXPECT_FALSE(macro->host_by_clang);
  // Whoever asks again gets the same from the cache.
  const auto again = Compile(
      "#if defined(PYBIND11_VERSION_MAJOR) && TORCH_VERSION_MAJOR >= 2\n#define CHOICE 1.f\n#else\n"
      "#define CHOICE 2.f\n#endif\n");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->cached);
  EXPECT_NE(again->decided_text, again->text);
}

TEST_F(RealHeadersTest, PyTorchDecidesWhatHeadersThereAre) {
  const auto header = Compile(
      "#if __has_include(<c10/core/TensorImpl.h>)\n#define CHOICE 1.f\n#else\n"
      "#define CHOICE 2.f\n#endif\n");
  ASSERT_TRUE(header.ok()) << header.error().Format();
  EXPECT_TRUE(Stores(*header, kOne));
}

TEST_F(RealHeadersTest, HonestConditionalsStay) {
  const auto honest = Compile(
      "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\n#define CHOICE 1.f\n#else\n"
      "#define CHOICE 2.f\n#endif\n");
  ASSERT_TRUE(honest.ok()) << honest.error().Format();
  EXPECT_TRUE(Stores(*honest, kOne));
  EXPECT_EQ(honest->decided_text, honest->text);
  EXPECT_TRUE(honest->warnings.empty());
}

TEST(KernelDifferences, NamesLinesAndCommentsDoNotCount) {
  const std::string a =
      ".visible .entry _Z1kPf(\n .param .u64 _Z1kPf_param_0\n)\n{\n // a\n .loc 1 2 3\n ret;\n}\n";
  const std::string b =
      ".visible .entry _Z1kIfEvPT_(\n.param .u64 _Z1kIfEvPT__param_0\n)\n{\nret;\n}\n";
  const std::string c =
      ".visible .entry _Z1kPf(\n .param .u64 _Z1kPf_param_0\n)\n{\n trap;\n ret;\n}\n";
  EXPECT_TRUE(KernelDifferences(a, b).empty());
  EXPECT_EQ(KernelDifferences(a, c).size(), 1u);
  EXPECT_EQ(KernelDifferences(a, "").size(), 1u);
  EXPECT_EQ(KernelDifferences("", a).size(), 1u);
}

}  // namespace
}  // namespace kernelsmith
