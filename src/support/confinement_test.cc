#include "support/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/subprocess.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// A folder with a canary that nothing confined may see, and a scratch folder.
class Confined : public testing::Test {
 protected:
  void SetUp() override {
    if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    folder_ = fs::path(testing::TempDir()) /
              ("confined-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_ / "scratch");
    fs::create_directories(folder_ / "secret");
    std::ofstream(folder_ / "secret" / "canary") << "tweet";
    std::ofstream(folder_ / "scratch" / "mine") << "mine";
  }
  void TearDown() override { fs::remove_all(folder_); }

  Confinement Walls() const {
    return {.readable = {"/usr/bin", "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/bin",
                         "/etc/ld.so.cache", "/dev/zero", "/no/such/place"},
            .writable = {folder_ / "scratch", "/dev/null"}};
  }
  Result<ProcessResult> Shell(const std::string& script, std::optional<Confinement> walls) {
    return SystemProcessRunner().Run({.argv = {"/bin/sh", "-c", script},
                                      .env = {{"PATH", "/usr/bin:/bin"}},
                                      .only_env = true,
                                      .directory = folder_ / "scratch",
                                      .confinement = std::move(walls)});
  }
  Result<ProcessResult> Shell(const std::string& script) { return Shell(script, Walls()); }

  fs::path folder_;
};

TEST_F(Confined, OnlyNamedPathsCanBeRead) {
  const std::string read = "cat " + (folder_ / "secret" / "canary").string();
  EXPECT_EQ(Shell(read)->out, "");
  EXPECT_NE(Shell(read)->exit_code, 0);
  EXPECT_EQ(Shell(read, std::nullopt)->out, "tweet") << "without the wall it must be there";
  EXPECT_EQ(Shell("cat mine")->out, "mine");
  EXPECT_NE(Shell("cat ../secret/canary")->exit_code, 0);
  EXPECT_NE(Shell("ls ..")->exit_code, 0);
  EXPECT_NE(Shell("cat /etc/passwd")->exit_code, 0);
  EXPECT_NE(Shell("cat /proc/self/environ")->exit_code, 0);
  EXPECT_NE(Shell("cat /sys/kernel/uevent_seqnum")->exit_code, 0);
}

TEST_F(Confined, LinksLeadNowhere) {
  fs::create_symlink(folder_ / "secret" / "canary", folder_ / "scratch" / "link");
  EXPECT_NE(Shell("cat link")->exit_code, 0);
  EXPECT_EQ(Shell("cat link", std::nullopt)->out, "tweet");
  EXPECT_NE(Shell("ln -s /etc/passwd here")->exit_code, 0);
  EXPECT_NE(Shell("ln ../secret/canary here")->exit_code, 0);
}

TEST_F(Confined, OnlyScratchCanBeWritten) {
  EXPECT_EQ(Shell("mkdir a && echo x > a/b && mv a/b c && cat c && rm -r a c")->out, "x\n");
  EXPECT_NE(Shell("echo x > ../secret/new")->exit_code, 0);
  EXPECT_NE(Shell("echo x > ../secret/canary")->exit_code, 0);
  EXPECT_NE(Shell("rm ../secret/canary")->exit_code, 0);
  EXPECT_NE(Shell("mkfifo pipe")->exit_code, 0);
  EXPECT_NE(Shell("cp /bin/true t && chmod +x t && ./t")->exit_code, 0);
  EXPECT_EQ(Shell("echo x > /dev/null")->exit_code, 0);
}

TEST_F(Confined, DescriptorsOfOursAreClosed) {
  const int open = ::open((folder_ / "secret" / "canary").c_str(), O_RDONLY);  // not O_CLOEXEC
  ASSERT_GE(open, 3);
  EXPECT_NE(Shell("cat <&" + std::to_string(open))->out, "tweet");
  EXPECT_NE(Shell("cat <&" + std::to_string(open), std::nullopt)->out, "tweet");
  ::close(open);
}

TEST_F(Confined, EnvironmentIsExact) {
  ::setenv("KS_SECRET_OF_OURS", "tweet", 1);
  EXPECT_EQ(Shell("echo ${KS_SECRET_OF_OURS-none}")->out, "none\n");
  SystemProcessRunner runner;
  runner.SetForAll({{"KS_FOR_ALL", "tweet"}});
  const auto all = runner.Run({.argv = {"/usr/bin/env"}, .env = {{"A", "b"}}, .only_env = true});
  EXPECT_EQ(all->out, "A=b\n");
  ::unsetenv("KS_SECRET_OF_OURS");
}

TEST_F(Confined, NetworkAndOtherProcessesAreOutOfReach) {
  const std::string perl =
      "perl -e 'use Socket; print socket(S, PF_INET, SOCK_DGRAM, 0) ? \"open\" : \"shut\"'";
  EXPECT_EQ(Shell(perl)->out, "shut");
  EXPECT_EQ(Shell(perl, std::nullopt)->out, "open");
  const std::string kill = "kill -0 " + std::to_string(::getpid()) + " && echo seen";
  if (LandlockVersion() >= 6) EXPECT_EQ(Shell(kill)->out, "");
  EXPECT_EQ(Shell(kill, std::nullopt)->out, "seen\n");
  // A child that left its process group would outlive it.
  EXPECT_NE(Shell("setsid --wait true")->exit_code, 0);
}

TEST_F(Confined, ProcessorTimeIsLimited) {
  Confinement walls = Walls();
  walls.processor_time = std::chrono::seconds(1);
  const auto result = Shell("while :; do :; done", walls);
  EXPECT_EQ(result->signal, SIGXCPU);
  EXPECT_FALSE(result->timed_out);
  EXPECT_GE(result->processor_time, std::chrono::milliseconds(800));
}

TEST_F(Confined, FilesAndMemoryAreLimited) {
  Confinement walls = Walls();
  walls.file_size = 1 << 20;
  EXPECT_NE(Shell("head -c 2000000 /dev/zero > big", walls)->exit_code, 0);
  EXPECT_LE(fs::file_size(folder_ / "scratch" / "big"), 1u << 20);
  walls.memory = 64 << 20;
  const std::string perl = "perl -e '$x = \"a\" x (200 << 20); print length $x'";
  EXPECT_EQ(Shell(perl, walls)->out, "");
  EXPECT_EQ(Shell(perl)->out, "209715200");
}

TEST_F(Confined, ScratchMustBeThere) {
  EXPECT_FALSE(Shell("true", Confinement{.readable = {"/usr"}, .writable = {"/no/such"}}).ok());
}

}  // namespace
}  // namespace kernelsmith
