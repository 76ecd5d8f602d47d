// Candidates that try to read a canary while they are compiled. Every way is tried twice: behind
// the walls, where the canary must not be in anything that comes out, and without them, where it
// must be, so that a way that never worked proves nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "compile/compile.h"
#include "support/testing/real_settings.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// It is valid C++, assembler (a comment) and text.
constexpr const char* kCanary = "#define CANARY \"tweet_of_the_canary\"\n";
constexpr const char* kTweet = "tweet_of_the_canary";

constexpr const char* kBody = R"(
extern "C" void launch(float* x, int n) { (void)x; (void)n; }
)";

class CompilerWalls : public testing::Test {
 protected:
  void SetUp() override {
    if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("ks-walls-") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "candidate");
    fs::create_directories(folder_ / "secret");
    std::ofstream(folder_ / "secret" / "canary.h") << kCanary;
    // Beside the candidate, but no header.
    std::ofstream(folder_ / "candidate" / "answers.txt") << kCanary;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Secret() const { return (folder_ / "secret" / "canary.h").string(); }

  CompileOptions Options(bool walls) const {
    CompileOptions options;
    options.cache = folder_ / (walls ? "cache" : "cache-without");
    options.unconfined_for_tests = !walls;
    options.any_text_for_tests = true;
    return options;
  }
  Result<CompiledCandidate> Compile(const std::string& text, const CompileOptions& options) {
    const fs::path source = folder_ / "candidate" / "k.cu";
    std::ofstream(source) << text << kBody;
    return CandidateCompiler(files_, processes_, tools_, {}).Compile(source, options);
  }
  // Everything that comes out of a compilation.
  std::string Outcome(const Result<CompiledCandidate>& result) {
    if (!result.ok()) return result.error().Format();
    std::string all = result->ptx + *files_.Read(result->host_library);
    for (const Diagnostic& warning : result->warnings) all += FormatDiagnostic(warning);
    return all;
  }
  bool Leaks(const std::string& text, bool walls, bool nvcc_only = false) {
    CompileOptions options = Options(walls);
    options.nvcc_only = nvcc_only;
    const std::string outcome = Outcome(Compile(text, options));
    return outcome.find(kTweet) != std::string::npos ||
           outcome.find("116, 119, 101, 101, 116") != std::string::npos;  // as PTX has it
  }
  void ExpectWall(const std::string& text, bool nvcc_only = false) {
    EXPECT_FALSE(Leaks(text, true, nvcc_only)) << text;
    EXPECT_TRUE(Leaks(text, false, nvcc_only)) << "without the wall it must leak: " << text;
  }
  // What is left of the scratch folders.
  size_t LeftBehind() {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "cache")) {
      count += entry.path().filename().string().starts_with("new-") ? 1 : 0;
    }
    return count;
  }

  fs::path folder_;
  DiskFileSystem files_;
  SystemProcessRunner processes_;
  ToolFinder tools_{processes_, files_, RealSettings().tools, KS_SOURCE_DIR};
};

TEST_F(CompilerWalls, HonestSourcesAndHeadersBesideThemCompile) {
  fs::create_directories(folder_ / "candidate" / "sub");
  std::ofstream(folder_ / "candidate" / "common.cuh") << "#pragma once\n#include \"sub/more.h\"\n";
  std::ofstream(folder_ / "candidate" / "sub" / "more.h") << "constexpr int kMore = 7;\n";
  for (const bool nvcc_only : {false, true}) {
    CompileOptions options = Options(true);
    options.nvcc_only = nvcc_only;
    const auto result =
        Compile("#include \"common.cuh\"\n__global__ void k(int* x) { *x = kMore; }\n", options);
    ASSERT_TRUE(result.ok()) << result.error().Format();
    EXPECT_NE(result->ptx.find("k"), std::string::npos);
    ASSERT_EQ(result->own_headers.size(), 2u);
  }
  // What is in them belongs to the key of the cache.
  std::ofstream(folder_ / "candidate" / "sub" / "more.h") << "constexpr int kMore = 8;\n";
  const auto changed = Compile(
      "#include \"common.cuh\"\n__global__ void k(int* x) { *x = kMore; }\n", Options(true));
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(changed->cached);
  EXPECT_EQ(LeftBehind(), 0u);
}

// Three times as fast as nvcc: flags or walls that made clang refuse would cost just that.
TEST_F(CompilerWalls, HostCodeOfTorchExtensionsIsStillByClang) {
  const fs::path source = folder_ / "candidate" / "torch.cu";
  std::ofstream(source) << "#include <torch/extension.h>\n"
                           "__global__ void k(float* x) { *x = 1; }\n"
                           "torch::Tensor forward(torch::Tensor x) {\n"
                           "  k<<<1, 1>>>(x.data_ptr<float>());\n"
                           "  return x;\n"
                           "}\n";
  const auto result =
      CandidateCompiler(files_, processes_, tools_, {}).Compile(source, Options(true));
  ASSERT_TRUE(result.ok()) << result.error().Format();
  EXPECT_TRUE(result->host_by_clang);
}

TEST_F(CompilerWalls, IncludeByAbsolutePath) {
  ExpectWall(fmt::format("#include \"{}\"\nconst char* volatile seen = CANARY;\n", Secret()));
}

TEST_F(CompilerWalls, IncludeByMacroAndByNvcc) {
  ExpectWall(
      fmt::format("#define HERE \"{}\"\n#include HERE\nconst char* volatile seen = CANARY;\n",
                  Secret()),
      true);
}

TEST_F(CompilerWalls, IncludeIntoDeviceCode) {
  ExpectWall(
      fmt::format("#include \"{}\"\n__device__ const char seen[] = CANARY;\n"
                  "__global__ void k(char* to) {{ *to = seen[*to]; }}\n",
                  Secret()));
}

TEST_F(CompilerWalls, IncbinInHostAssembler) {
  const std::string source =
      fmt::format("asm(\".pushsection .rodata\\n.incbin \\\"{}\\\"\\n.popsection\");\n", Secret());
  ExpectWall(source);
  ExpectWall(source, true);
}

TEST_F(CompilerWalls, IncbinByRelativePath) {
  // Compilers run in the scratch folder, five folders deep at most.
  const std::string path = fs::relative(Secret(), "/").string();
  ExpectWall(fmt::format("asm(\".incbin \\\"../../../../../../../../../../{}\\\"\");\n", path));
}

TEST_F(CompilerWalls, IncludeInHostAssembler) {
  std::ofstream(folder_ / "secret" / "canary.h") << ".ascii \"" << kTweet << "\"\n";
  ExpectWall(fmt::format("asm(\".include \\\"{}\\\"\");\n", Secret()), true);
}

TEST_F(CompilerWalls, LinkBesideTheCandidate) {
  fs::create_symlink("../secret/canary.h", folder_ / "candidate" / "link.h");
  const std::string link = (folder_ / "candidate" / "link.h").string();
  ExpectWall(fmt::format("#include \"{}\"\nconst char* volatile seen = CANARY;\n", link));
  // By its plain name it is not copied: that needs no wall.
  EXPECT_FALSE(Leaks("#include \"link.h\"\nconst char* volatile seen = CANARY;\n", true));
}

TEST_F(CompilerWalls, FilesBesideTheCandidateThatAreNoHeaders) {
  ExpectWall(fmt::format("asm(\".incbin \\\"{}\\\"\");\n",
                         (folder_ / "candidate" / "answers.txt").string()));
}

TEST_F(CompilerWalls, DiagnosticsShowNothingOfOtherFiles) {
  std::ofstream(folder_ / "secret" / "canary.h") << "#error " << kTweet << "\n";
  ExpectWall(fmt::format("#include \"{}\"\n", Secret()), true);
}

TEST_F(CompilerWalls, OtherFoldersOfTheMachine) {
  for (const char* path : {"/etc/passwd", "/proc/self/environ", "/proc/self/maps",
                           "/proc/1/cmdline", "/sys/kernel/notes", "/proc/self/cwd/../secret"}) {
    const auto result = Compile(fmt::format("asm(\".incbin \\\"{}\\\"\");\n", path), Options(true));
    EXPECT_FALSE(result.ok()) << path;
  }
  // What the toolchain itself has can be read; nothing in it is a secret.
  EXPECT_TRUE(Compile("asm(\".incbin \\\"/usr/include/limits.h\\\"\");\n", Options(true)).ok());
}

TEST_F(CompilerWalls, OtherCandidatesInTheCache) {
  const auto other = Compile("// another\n", Options(true));
  ASSERT_TRUE(other.ok()) << other.error().Format();
  EXPECT_FALSE(Compile(fmt::format("asm(\".incbin \\\"{}\\\"\");\n", other->host_library.string()),
                       Options(true))
                   .ok());
}

TEST_F(CompilerWalls, EnvironmentIsNotOurs) {
  // GCC and clang take folders of headers from the environment.
  ::setenv("CPATH", (folder_ / "secret").c_str(), 1);
  const std::string source = "#include <canary.h>\nconst char* volatile seen = CANARY;\n";
  ExpectWall(source);
  ::unsetenv("CPATH");
}

// Limits are never a verdict, and leave nothing behind.
TEST_F(CompilerWalls, EndlessTemplatesReachTheLimitOfTime) {
  CompileOptions options = Options(true);
  options.processor_time = std::chrono::seconds(3);
  const auto result = Compile(
      "template <int N, int M> struct T { static constexpr long v = T<N - 1, M * 2>::v + "
      "T<N - 1, M * 2 + 1>::v; };\n"
      "template <int M> struct T<0, M> { static constexpr long v = M; };\n"
      "__global__ void k(long* x) { *x = T<29, 0>::v; }\n",
      options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind(), ErrorKind::kTimeout) << result.error().Format();
  EXPECT_EQ(LeftBehind(), 0u);
}

TEST_F(CompilerWalls, LargeFilesReachTheLimitOfSize) {
  CompileOptions options = Options(true);
  options.file_size = 16 << 20;
  const auto result = Compile("asm(\".data\\n.fill 1 << 30, 1, 7\\n.text\");\n", options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind(), ErrorKind::kTimeout) << result.error().Format();
  EXPECT_EQ(LeftBehind(), 0u);
}

TEST_F(CompilerWalls, HungryCompilersReachTheLimitOfMemory) {
  CompileOptions options = Options(true);
  options.memory = 300 << 20;
  const auto result = Compile(
      "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\n#define C(x) B(B(x))\n"
      "long big = 0 C(A(+1));\n",
      options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind(), ErrorKind::kTimeout) << result.error().Format();
  EXPECT_EQ(LeftBehind(), 0u);
}

TEST_F(CompilerWalls, MessagesAreCleanAndShort) {
  const auto result =
      Compile("#error \x1b[2J\x1b]0;verified\a" + std::string(3000, 'x') + "\n", Options(true));
  ASSERT_FALSE(result.ok());
  for (const Diagnostic& diagnostic : result.error().diagnostics()) {
    EXPECT_EQ(diagnostic.message.find('\x1b'), std::string::npos);
    EXPECT_LE(diagnostic.message.size(), 1000u);
  }
}

}  // namespace
}  // namespace kernelsmith
