#include "support/tool_finder.h"

#include <gtest/gtest.h>

#include <map>

#include "support/testing/fake_file_system.h"
#include "support/testing/fake_process_runner.h"

namespace kernelsmith {
namespace {

class ToolFinderTest : public testing::Test {
 protected:
  // A program at `path` that prints `output`.
  void Install(const std::string& path, const std::string& output) {
    files_.files[path] = "";
    outputs_[path] = output;
  }
  ToolFinder Finder() {
    processes_.programs = [this](const ProcessRequest& request) -> Result<ProcessResult> {
      const auto found = outputs_.find(request.argv[0]);
      if (found == outputs_.end()) return MissingTool("can't run " + request.argv[0]);
      return ProcessResult{.out = found->second, .err = errors_[request.argv[0]]};
    };
    return {processes_, files_, settings_, "/project"};
  }

  ToolSettings settings_{.search_path = "/bin:/usr/bin"};
  std::map<std::string, std::string> outputs_;
  std::map<std::string, std::string> errors_;
  FakeFileSystem files_;
  FakeProcessRunner processes_;
};

constexpr char kNvccSays[] =
    "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA Corporation\n"
    "Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0.r13.0/compiler.1_0\n";

TEST_F(ToolFinderTest, NothingThere) {
  ToolFinder finder = Finder();
  EXPECT_FALSE(finder.Nvcc().has_value());
  EXPECT_FALSE(finder.Clang().has_value());
  EXPECT_FALSE(finder.PythonWithTorch().has_value());
  EXPECT_TRUE(finder.Gpus().empty());
}

TEST_F(ToolFinderTest, NvccInPathComesBeforeTheUsualPlace) {
  Install("/usr/local/cuda/bin/nvcc", kNvccSays);
  ToolFinder finder = Finder();
  EXPECT_EQ(finder.Nvcc()->path, "/usr/local/cuda/bin/nvcc");
  Install("/usr/bin/nvcc", kNvccSays);
  EXPECT_EQ(finder.Nvcc()->path, "/usr/bin/nvcc");
  EXPECT_EQ(finder.Nvcc()->version, "13.0.88");
}

TEST_F(ToolFinderTest, NvccOfTheSetUpComesFirst) {
  Install("/usr/bin/nvcc", kNvccSays);
  Install("/project/.venv/cuda/nvidia/cu13/bin/nvcc", kNvccSays);
  EXPECT_EQ(Finder().Nvcc()->path, "/project/.venv/cuda/nvidia/cu13/bin/nvcc");
}

TEST_F(ToolFinderTest, NamedToolIsTheOnlyCandidate) {
  Install("/usr/bin/nvcc", kNvccSays);
  settings_.nvcc = "/broken/nvcc";
  EXPECT_FALSE(Finder().Nvcc().has_value());
}

// Scripts in PATH that start compilers elsewhere: what they start is found.
TEST_F(ToolFinderTest, CompilersBehindWrappersAreFound) {
  Install("/usr/bin/nvcc", kNvccSays);
  Install("/opt/cuda/bin/nvcc", kNvccSays);
  Install("/usr/bin/ptxas", kNvccSays);
  Install("/opt/cuda/bin/ptxas", kNvccSays);
  Install("/usr/bin/clang++", "clang version 19.1.7\nInstalledDir: /opt/llvm/bin\n");
  Install("/opt/llvm/bin/clang++", "");
  ToolFinder finder = Finder();
  EXPECT_EQ(finder.Nvcc()->path, "/usr/bin/nvcc");  // which does not say where it is
  errors_["/usr/bin/nvcc"] = "#$ _SPACE_= \n#$ _HERE_=/opt/cuda/bin\n#$ _THERE_=/elsewhere\n";
  EXPECT_EQ(finder.Nvcc()->path, "/opt/cuda/bin/nvcc");
  EXPECT_EQ(finder.Nvcc()->version, "13.0.88");
  EXPECT_EQ(finder.Ptxas()->path, "/opt/cuda/bin/ptxas");
  EXPECT_EQ(finder.Clang()->path, "/opt/llvm/bin/clang++");
  settings_.ptxas = "/usr/bin/ptxas";
  EXPECT_EQ(Finder().Ptxas()->path, "/usr/bin/ptxas");
}

TEST_F(ToolFinderTest, PythonNeedsARecentTorch) {
  Install("/usr/bin/python3", "2.4.1\n");
  EXPECT_FALSE(Finder().PythonWithTorch().has_value());
  Install("/project/.venv/bin/python3", "2.15.0+cu132\n");
  EXPECT_EQ(Finder().PythonWithTorch()->path, "/project/.venv/bin/python3");
  EXPECT_EQ(Finder().PythonWithTorch()->version, "2.15.0+cu132");
}

TEST_F(ToolFinderTest, GpusAreListedOneALine) {
  Install("/usr/bin/nvidia-smi", "NVIDIA H100 80GB HBM3, 570.1\nNVIDIA H100 80GB HBM3, 570.1\n");
  EXPECT_EQ(Finder().Gpus().size(), 2u);
}

TEST(Versions, AreFoundAndCompared) {
  EXPECT_EQ(FindVersion("clang version 19.1.7 (3)"), "19.1.7");
  EXPECT_EQ(FindVersion("release 12, V12.8.93"), "12.8.93");
  EXPECT_EQ(FindVersion("no version 3"), "");
  EXPECT_EQ(CompareVersions("2.15.0+cu132", "2.5"), 1);
  EXPECT_EQ(CompareVersions("2.5", "2.5.0"), 0);
  EXPECT_EQ(CompareVersions("12.4.1", "12.8"), -1);
}

}  // namespace
}  // namespace kernelsmith
