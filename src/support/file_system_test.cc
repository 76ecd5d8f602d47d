#include "support/file_system.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

class DiskTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("ks_file_test_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  DiskFileSystem files_;
};

TEST_F(DiskTest, WritesWholeFilesAndReadsThemBack) {
  const std::string contents("a\0b\n", 4);
  ASSERT_TRUE(files_.Write(folder_ / "f", contents).ok());
  ASSERT_TRUE(files_.Write(folder_ / "f", contents + "more").ok());
  EXPECT_EQ(*files_.Read(folder_ / "f"), contents + "more");
  // No temporary file is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(DiskTest, NamesTheFileAndTheReason) {
  const std::string path = (folder_ / "none").string();
  EXPECT_EQ(files_.Read(path).error().message(),
            "can't read " + path + ": no such file or directory");
  EXPECT_EQ(files_.Read(folder_).error().message(),
            "can't read " + folder_.string() + ": is a directory");
  EXPECT_FALSE(files_.Write(folder_ / "no" / "folder", "x").ok());
}

TEST_F(DiskTest, ReadsFilesWithoutASize) {
  EXPECT_FALSE(files_.Read("/proc/self/status")->empty());
}

}  // namespace
}  // namespace kernelsmith
