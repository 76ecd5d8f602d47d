// What was committed is there after kill -9, and the file is whole.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "archive/archive.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

TEST(ArchiveDurability, KeepsWhatWasCommittedWhenTheWriterIsKilled) {
  const fs::path folder =
      fs::path(testing::TempDir()) / ("archive_durability" + std::to_string(::getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  const fs::path file = folder / "archive.db";
  int64_t promised = 0;
  for (int round = 0; round < 6; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      // Adds pairs, all or none, and promises each id through the pipe once it is committed.
      auto archive = Archive::Open(file);
      if (!archive.ok()) ::_exit(1);
      ArchivedCandidate first;
      first.task = "softmax";
      first.source = std::string(20000, 'x');
      while (true) {
        const ArchivedCandidate pair[] = {first, first};
        const auto added = (*archive)->AddAll(pair);
        if (!added.ok()) ::_exit(2);
        const int64_t id = added->back().id;
        if (::write(pipe_ends[1], &id, sizeof id) != sizeof id) ::_exit(3);
      }
    }
    ::close(pipe_ends[1]);
    // Let it get going, then strike at a moment that differs from round to round.
    int64_t id = 0;
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(::read(pipe_ends[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
      promised = id;
    }
    ::usleep(700 * (round + 1));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself: " << WEXITSTATUS(status);
    while (::read(pipe_ends[0], &id, sizeof id) == sizeof id) promised = id;
    ::close(pipe_ends[0]);

    auto archive = Archive::Open(file);
    ASSERT_TRUE(archive.ok()) << archive.error().message();
    EXPECT_EQ(*(*archive)->IntegrityCheck(), "ok");
    const auto all = (*archive)->List({.order = ArchiveFilter::Order::kNewest});
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->size() % 2, 0u) << "half a transaction";
    // At most one transaction can be committed without its promise.
    EXPECT_GE(all->front().id, promised);
    EXPECT_LE(all->front().id, promised + 2);
    EXPECT_EQ(static_cast<int64_t>(all->size()), all->front().id) << "something is missing";
    EXPECT_EQ(all->front().source.size(), 20000u);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace kernelsmith
