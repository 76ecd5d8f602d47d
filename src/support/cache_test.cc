#include "support/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "support/rng.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kEntryBytes = 64 << 10;

class CacheTest : public testing::Test {
 protected:
  CacheTest()
      : folder_(fs::path(testing::TempDir()) / ("ks-cache-" + std::to_string(RandomSeed()))),
        cache_(folder_) {
    fs::create_directories(folder_);
  }
  ~CacheTest() override {
    for (const pid_t child : children_) Kill(child);
    fs::remove_all(folder_);
  }

  void WriteFile(const fs::path& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  void Age(const fs::path& path, int hours) {
    fs::last_write_time(folder_ / path,
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
  // A candidate that was used so many hours ago.
  fs::path AddCandidate(const std::string& key, int hours) {
    const fs::path entry = fs::path("candidates") / key.substr(0, 2) / key;
    WriteFile(entry / "host.so", std::string(kEntryBytes, 'x'));
    WriteFile(entry / "complete", "clang");
    Age(entry / "complete", hours);
    return entry;
  }
  bool Has(const fs::path& entry) const { return fs::exists(folder_ / entry); }

  // A process that uses the entry until it is killed.
  pid_t StartUser(const fs::path& entry) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool ok = Cache(folder_).Use(entry).ok();
      if (::write(ready[1], ok ? "y" : "n", 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    char answer = 0;
    EXPECT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
    children_.push_back(child);
    return child;
  }
  void Kill(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::erase(children_, child);
  }

  fs::path folder_;
  Cache cache_;
  std::vector<pid_t> children_;
};

TEST_F(CacheTest, WhatWasNotUsedForLongestGoesFirst) {
  const fs::path newest = AddCandidate("aa01", 1);
  const fs::path oldest = AddCandidate("bb02", 9);
  const fs::path middle = AddCandidate("cc03", 5);
  const std::vector<CacheEntry> entries = cache_.Entries();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].path, oldest);
  EXPECT_EQ(entries[2].path, newest);
  EXPECT_STREQ(entries[0].kind->name, "candidates");
  EXPECT_GE(entries[0].bytes, kEntryBytes);

  const Result<CacheRemoval> removal = cache_.Trim(2 * entries[0].bytes + 1000);
  ASSERT_TRUE(removal.ok());
  EXPECT_EQ(removal->entries, 1u);
  EXPECT_FALSE(Has(oldest));
  EXPECT_TRUE(Has(middle));
  EXPECT_TRUE(Has(newest));
}

TEST_F(CacheTest, UseMakesAnEntryTheNewest) {
  const fs::path first = AddCandidate("aa01", 9);
  const fs::path second = AddCandidate("bb02", 5);
  ASSERT_TRUE(cache_.Use(first).ok());
  EXPECT_EQ(cache_.Entries()[0].path, second);
}

TEST_F(CacheTest, WhatALivingProcessUsesStays) {
  const fs::path entry = AddCandidate("aa01", 9);
  const pid_t user = StartUser(entry);
  Age(entry / "complete", 9);  // as if it had used it for hours
  Result<CacheRemoval> removal = cache_.Trim(0);
  ASSERT_TRUE(removal.ok());
  EXPECT_EQ(removal->in_use, 1u);
  EXPECT_TRUE(Has(entry));
  Kill(user);
  removal = cache_.Trim(0);
  ASSERT_TRUE(removal.ok());
  EXPECT_EQ(removal->entries, 1u);
  EXPECT_FALSE(Has(entry));
  EXPECT_THAT(cache_.Entries(), IsEmpty());
}

TEST_F(CacheTest, AnEntryThatIsUsedBeforeItIsThereIsSafeToo) {
  const fs::path entry = fs::path("candidates") / "aa" / "aa01";
  StartUser(entry);
  AddCandidate("aa01", 9);
  ASSERT_TRUE(cache_.Trim(0).ok());
  EXPECT_TRUE(Has(entry));
}

TEST_F(CacheTest, WhatKilledProcessesLeftBehindGoesWithoutNeed) {
  WriteFile("candidates/new-77-1/candidate.cu", "x");
  Age("candidates/new-77-1", 2);
  WriteFile("tasks/0011/evaluate.safetensors", "x");  // it has no manifest
  Age("tasks/0011", 2);
  WriteFile("candidates/new-78-1/candidate.cu", "x");  // perhaps somebody is at work
  const fs::path good = AddCandidate("aa01", 9);
  const Result<CacheRemoval> removal = cache_.Trim(UINT64_MAX);
  ASSERT_TRUE(removal.ok());
  EXPECT_EQ(removal->entries, 2u);
  EXPECT_FALSE(Has("candidates/new-77-1"));
  EXPECT_FALSE(Has("tasks/0011"));
  EXPECT_TRUE(Has("candidates/new-78-1"));
  EXPECT_TRUE(Has(good));
}

TEST_F(CacheTest, ClearTakesKindsAndAges) {
  const fs::path candidate = AddCandidate("aa01", 50);
  WriteFile("tasks/0011/manifest.json", "{}");
  Age("tasks/0011/manifest.json", 50);
  WriteFile("tasks/0022/manifest.json", "{}");
  WriteFile("bench/results.jsonl", "{}");
  ASSERT_TRUE(cache_.Clear({.kinds = {"tasks"}, .unused_for = std::chrono::hours(48)}).ok());
  EXPECT_FALSE(Has("tasks/0011"));
  EXPECT_TRUE(Has("tasks/0022"));
  EXPECT_TRUE(Has(candidate));
  ASSERT_TRUE(cache_.Clear({}).ok());
  EXPECT_FALSE(Has(candidate));
  EXPECT_TRUE(Has("bench/results.jsonl")) << "results go only when they are named";
  ASSERT_TRUE(cache_.Clear({.kinds = {"bench"}}).ok());
  EXPECT_FALSE(Has("bench/results.jsonl"));
}

TEST_F(CacheTest, PrecompiledHeadersGoWithTheirHeader) {
  WriteFile("candidates/torch-1.pch", "x");
  WriteFile("candidates/torch-1.h", "x");
  ASSERT_TRUE(cache_.Trim(0).ok());
  EXPECT_FALSE(Has("candidates/torch-1.pch"));
  EXPECT_FALSE(Has("candidates/torch-1.h"));
}

TEST_F(CacheTest, KeepBelowLooksOnceInAWhile) {
  const fs::path old = AddCandidate("aa01", 9);
  cache_.KeepBelow(0);
  EXPECT_TRUE(Has(old)) << "0 is no limit";
  cache_.KeepBelow(1000);
  EXPECT_FALSE(Has(old));
  const fs::path other = AddCandidate("bb02", 9);
  cache_.KeepBelow(1000);
  EXPECT_TRUE(Has(other)) << "it has just looked";
  Age("trimmed", 1);
  cache_.KeepBelow(1000);
  EXPECT_FALSE(Has(other));
}

TEST_F(CacheTest, AFolderThatCantBeWrittenIsAnErrorWithAReason) {
  WriteFile("file", "x");
  const Cache cache(folder_ / "file" / "cache");
  const Status status = cache.CheckWritable();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), HasSubstr("can't be written"));
  EXPECT_THAT(cache.Entries(), IsEmpty());
  EXPECT_TRUE(cache_.CheckWritable().ok());
}

// What a short process does with a few entries that others make, read and remove as well: who has
// found or made an entry can read it. The exit code.
int WorkWith(const fs::path& folder, int number) {
  const Cache cache(folder);
  for (int round = 0; round < 6; ++round) {
    const std::string key = "aa" + std::to_string((round * 7 + number * 3) % 20);
    const fs::path entry = fs::path("candidates") / "aa" / key;
    if (!cache.Use(entry).ok()) return 2;
    std::error_code error;
    if (!fs::exists(folder / entry / "complete", error)) {
      const fs::path scratch =
          folder / "candidates" / ("new-" + std::to_string(number) + "-" + std::to_string(round));
      fs::create_directories(scratch, error);
      std::ofstream(scratch / "host.so") << "x";
      std::ofstream(scratch / "complete") << "clang";
      fs::create_directories((folder / entry).parent_path(), error);
      fs::rename(scratch, folder / entry, error);
      fs::remove_all(scratch, error);
    }
    ::usleep(300);
    if (!fs::exists(folder / entry / "host.so", error)) return 3;
  }
  return 0;
}

TEST_F(CacheTest, ReadersNeverLoseAnEntry) {
  constexpr int kProcesses = 60;
  constexpr int kAtATime = 3;
  int started = 0;
  int ended = 0;
  size_t removed = 0;
  while (ended < kProcesses) {
    while (started < kProcesses && started - ended < kAtATime) {
      const int number = started++;
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) ::_exit(WorkWith(folder_, number));
    }
    const Result<CacheRemoval> removal = cache_.Trim(0);
    ASSERT_TRUE(removal.ok());
    removed += removal->entries;
    int status = 0;
    while (::waitpid(-1, &status, WNOHANG) > 0) {
      ++ended;
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
  }
  ASSERT_TRUE(cache_.Trim(0).ok());
  EXPECT_GT(removed, 0u) << "nothing was tested";
  EXPECT_THAT(cache_.Entries(), IsEmpty());
}

}  // namespace
}  // namespace kernelsmith
