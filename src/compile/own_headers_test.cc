#include "compile/own_headers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

class OwnHeadersTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("own-headers-" + std::to_string(::getpid()));
    fs::create_directories(root_ / "candidate" / "deep");
    Write("outside.h", "secret");
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(root_ / name) << text;
  }
  // Names of what is found.
  std::string Found(const std::string& text) {
    const Result<std::vector<OwnHeader>> headers = OwnHeaders(root_ / "candidate", text);
    if (!headers.ok()) return "error: " + headers.error().message();
    std::string names;
    for (const OwnHeader& header : *headers) names += header.name + " ";
    return names;
  }

  fs::path root_;
};

TEST_F(OwnHeadersTest, FollowsQuotedIncludes) {
  Write("candidate/a.cuh", "#include \"deep/b.h\"\n");
  Write("candidate/deep/b.h", "#include \"c.h\"\n#include \"../a.cuh\"\n");
  Write("candidate/deep/c.h", "");
  Write("candidate/unused.h", "");
  EXPECT_EQ(Found("#include \"a.cuh\"\n#include <unused.h>\n// #include \"unused.h\"\n"),
            "a.cuh deep/b.h deep/c.h ");
  EXPECT_EQ(Found("#include \"torch/extension.h\"\n"), "");
}

TEST_F(OwnHeadersTest, NothingLeadsOutOfTheFolder) {
  fs::create_symlink("../outside.h", root_ / "candidate" / "link.h");
  fs::create_directory_symlink("..", root_ / "candidate" / "up");
  EXPECT_EQ(Found("#include \"../outside.h\""), "");
  EXPECT_EQ(Found("#include \"deep/../../outside.h\""), "");
  EXPECT_EQ(Found("#include \"" + (root_ / "outside.h").string() + "\""), "");
  EXPECT_EQ(Found("#include \"link.h\""), "");
  EXPECT_EQ(Found("#include \"up/outside.h\""), "");
}

TEST_F(OwnHeadersTest, OnlyRegularFilesOfTheLanguage) {
  Write("candidate/answers.json", "{}");
  Write("candidate/task.py", "");
  fs::create_directory(root_ / "candidate" / "folder.h");
  ASSERT_EQ(::mkfifo((root_ / "candidate" / "pipe.h").c_str(), 0600), 0);
  EXPECT_EQ(Found("#include \"answers.json\"\n#include \"task.py\"\n#include \"folder.h\"\n"
                  "#include \"pipe.h\"\n"),
            "");
}

TEST_F(OwnHeadersTest, SizesAreLimited) {
  Write("candidate/large.h", std::string(5 << 20, ' '));
  EXPECT_EQ(Found("#include \"large.h\"").substr(0, 6), "error:");
  std::string text;
  for (int i = 0; i < 65; ++i) {
    Write("candidate/h" + std::to_string(i) + ".h", "");
    text += "#include \"h" + std::to_string(i) + ".h\"\n";
  }
  EXPECT_EQ(Found(text).substr(0, 6), "error:");
}

}  // namespace
}  // namespace kernelsmith
