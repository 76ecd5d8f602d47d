#include "archive/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "archive/database.h"
#include "archive/schema.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() {
    folder_ = fs::path(testing::TempDir()) /
              NameOf(testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  static std::string NameOf(const char* test) {
    return "archive_test_" + std::string(test) + std::to_string(::getpid());
  }
  ~ArchiveTest() override { fs::remove_all(folder_); }

  fs::path File() const { return folder_ / "archive.db"; }
  std::unique_ptr<Archive> Opened(Archive::Options options = {}) const {
    Result<std::unique_ptr<Archive>> archive = Archive::Open(File(), options);
    EXPECT_TRUE(archive.ok()) << (archive.ok() ? "" : archive.error().message());
    return archive.ok() ? std::move(*archive) : nullptr;
  }
  std::string OpenError(const fs::path& path, Archive::Options options = {}) const {
    const Result<std::unique_ptr<Archive>> archive = Archive::Open(path, options);
    return archive.ok() ? "opened" : archive.error().message();
  }

  fs::path folder_;
};

ArchivedCandidate Sample(const std::string& source) {
  ArchivedCandidate candidate;
  candidate.task = "softmax";
  candidate.direction = "forward";
  candidate.dtype = "float32";
  candidate.proposer = "test";
  candidate.source = source;
  candidate.verdict = "refuted";
  return candidate;
}

ArchivedCandidate Verified(const std::string& source, double ns) {
  ArchivedCandidate candidate = Sample(source);
  candidate.verdict = "verified";
  candidate.time_ns = ns;
  candidate.time_kind = "estimated";
  candidate.gpu = "H100";
  return candidate;
}

TEST_F(ArchiveTest, GivesBackAllItWasGiven) {
  const std::unique_ptr<Archive> archive = Opened();
  ArchivedRun run{.task = "softmax", .direction = "forward", .dtype = "float32"};
  run.seed = UINT64_MAX;
  run.options = {{"islands", 2}};
  run.budget = {{"candidates", 60}};
  const Result<int64_t> run_id = archive->AddRun(run);
  ASSERT_TRUE(run_id.ok());
  const Result<ArchivedCandidate> first = archive->Add(Sample("first"));
  ASSERT_TRUE(first.ok());
  ArchivedCandidate candidate = Verified(std::string("zero \0 byte, \xff no UTF-8", 24), 1.5);
  candidate.run = *run_id;
  candidate.number = 3;
  candidate.generation = 4;
  candidate.island = 1;
  candidate.note = "wider loads";
  candidate.genes = {{"tile", 32}};
  candidate.ptx_hash = "abc";
  candidate.stage = "verify";
  candidate.reason = "none";
  candidate.findings = {{{"kind", "slow"}}};
  candidate.counters = {{"sectors", 12}};
  candidate.limits = {"dram"};
  candidate.cell = "dram/1";
  candidate.prompt = "make it fast";
  candidate.answer = "yes";
  candidate.tokens_in = 10;
  candidate.tokens_out = 20;
  candidate.dollars = 0.25;
  candidate.seconds = 2.5;
  candidate.parents = {first->id};
  const Result<ArchivedCandidate> added = archive->Add(candidate);
  ASSERT_TRUE(added.ok()) << added.error().message();
  const Result<ArchivedCandidate> got = archive->Get(added->id);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(ToJson(*got), ToJson(*added));
  candidate.id = got->id;
  candidate.source_sha256 = got->source_sha256;
  candidate.created_at = got->created_at;
  EXPECT_EQ(ToJson(*got), ToJson(candidate));
  EXPECT_EQ(got->source_sha256.size(), 64u);
  EXPECT_THAT(got->created_at, testing::MatchesRegex("20..-..-..T..:..:.*Z"));
  const Result<ArchivedRun> run_got = archive->GetRun(*run_id);
  ASSERT_TRUE(run_got.ok());
  EXPECT_EQ(run_got->seed, UINT64_MAX);
  EXPECT_EQ(run_got->options, run.options);
  EXPECT_EQ(run_got->state, "running");
  ASSERT_TRUE(archive->UpdateRun(*run_id, "finished", 12.5, {{"candidates", 90}}).ok());
  EXPECT_EQ(archive->GetRun(*run_id)->state, "finished");
  EXPECT_EQ(archive->GetRun(*run_id)->budget["candidates"], 90);
}

TEST_F(ArchiveTest, ListsTheBestFirstAndFilters) {
  const std::unique_ptr<Archive> archive = Opened();
  ArchivedCandidate other = Verified("d", 1);
  other.task = "gelu";
  ArchivedCandidate measured = Verified("e", 0.5);
  measured.time_kind = "measured";
  for (const ArchivedCandidate& each :
       {Sample("a"), Verified("b", 20), Verified("c", 10), other, measured}) {
    ASSERT_TRUE(archive->Add(each).ok());
  }
  const auto sources = [&](const ArchiveFilter& filter) {
    std::vector<std::string> found;
    const auto listed = archive->List(filter);
    for (const ArchivedCandidate& each : *listed) found.push_back(each.source);
    return found;
  };
  EXPECT_THAT(sources({}), ElementsAre("d", "c", "b", "e", "a"));
  EXPECT_THAT(sources({.task = "softmax", .verdict = "verified"}), ElementsAre("c", "b", "e"));
  EXPECT_THAT(sources({.order = ArchiveFilter::Order::kNewest, .limit = 2}), ElementsAre("e", "d"));
  EXPECT_THAT(sources({.run = 1}), ElementsAre());
}

TEST_F(ArchiveTest, KnowsAncestorsByTheShortestWay) {
  const std::unique_ptr<Archive> archive = Opened();
  ASSERT_TRUE(archive->Add(Sample("1")).ok());
  ArchivedCandidate next = Sample("2");
  next.parents = {1};
  ASSERT_TRUE(archive->Add(next).ok());
  next.source = "3";
  next.parents = {2, 1};
  ASSERT_TRUE(archive->Add(next).ok());
  next.source = "4";
  next.parents = {3};
  ASSERT_TRUE(archive->Add(next).ok());
  std::vector<int64_t> ids;
  const auto ancestors = archive->Ancestors(4);
  ASSERT_TRUE(ancestors.ok()) << ancestors.error().message();
  for (const ArchivedCandidate& each : *ancestors) ids.push_back(each.id);
  EXPECT_THAT(ids, ElementsAre(3, 1, 2));
  EXPECT_THAT(archive->Get(3)->parents, ElementsAre(2, 1));
}

TEST_F(ArchiveTest, AddsAllOrNone) {
  const std::unique_ptr<Archive> archive = Opened();
  std::vector<ArchivedCandidate> several = {Sample("a"), Sample("b")};
  several[1].parents = {99};  // nobody
  EXPECT_FALSE(archive->AddAll(several).ok());
  EXPECT_TRUE(archive->List({})->empty());
  several[1].parents.clear();
  several[1].verdict = "splendid";
  EXPECT_THAT(archive->AddAll(several).error().message(), HasSubstr("unknown verdict"));
  several[1] = Verified("b", 1);
  several[1].time_kind = "";
  EXPECT_THAT(archive->AddAll(several).error().message(), HasSubstr("estimated or measured"));
  EXPECT_TRUE(archive->List({})->empty());
}

TEST_F(ArchiveTest, RefusesTheSameNumberTwice) {
  const std::unique_ptr<Archive> archive = Opened();
  ArchivedCandidate candidate = Sample("a");
  candidate.run = *archive->AddRun({.task = "softmax"});
  candidate.number = 0;
  ASSERT_TRUE(archive->Add(candidate).ok());
  EXPECT_THAT(archive->Add(candidate).error().message(), HasSubstr("another process"));
}

TEST_F(ArchiveTest, BringsAnOlderArchiveUpToDate) {
  {
    auto database = Database::Open(File(), false, false, std::chrono::milliseconds(100));
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(Migrate(**database, "old", false, 1).ok());
    ASSERT_TRUE((*database)
                    ->Execute("INSERT INTO run (task, direction, dtype, seed, options, "
                              "budget, state) VALUES ('t', 'f', 'd', '1', '{}', '{}', "
                              "'stopped')")
                    .ok());
    EXPECT_EQ(*(*database)->Ask("PRAGMA user_version"), "1");
  }
  EXPECT_THAT(OpenError(File(), {.read_only = true}), HasSubstr("older kernelsmith"));
  ASSERT_EQ(Opened()->Runs()->size(), 1u);
  auto database = Database::Open(File(), true, false, std::chrono::milliseconds(100));
  EXPECT_EQ(*(*database)->Ask("PRAGMA user_version"), std::to_string(SchemaSections().size()));
  EXPECT_EQ(*(*database)->Ask("SELECT count(*) FROM sqlite_schema WHERE name = "
                              "'candidate_by_task'"),
            "1");
}

TEST_F(ArchiveTest, RefusesANewerArchiveAndLeavesItAlone) {
  Opened();
  auto database = Database::Open(File(), false, false, std::chrono::milliseconds(100));
  ASSERT_TRUE((*database)->Execute("PRAGMA user_version = 99").ok());
  EXPECT_THAT(OpenError(File()), HasSubstr("newer kernelsmith (version 99"));
  EXPECT_EQ(*(*database)->Ask("PRAGMA user_version"), "99");
}

TEST_F(ArchiveTest, RefusesWhatIsNoArchive) {
  std::ofstream(File()) << std::string(5000, 'x');
  EXPECT_THAT(OpenError(File()), HasSubstr("not a SQLite database"));
  EXPECT_THAT(OpenError(folder_), HasSubstr("it is a folder"));
  EXPECT_THAT(OpenError(folder_ / "none.db", {.read_only = true}),
              HasSubstr("there is no archive"));
  EXPECT_THAT(OpenError(File() / "inside.db"), HasSubstr("can't make folder"));
  {
    auto database =
        Database::Open(folder_ / "other.db", false, false, std::chrono::milliseconds(100));
    ASSERT_TRUE((*database)->Execute("CREATE TABLE recipes (name)").ok());
  }
  EXPECT_THAT(OpenError(folder_ / "other.db"), HasSubstr("database of another program"));
}

TEST_F(ArchiveTest, SaysThatItIsLocked) {
  const std::unique_ptr<Archive> archive = Opened({.patience = std::chrono::milliseconds(20)});
  auto other = Database::Open(File(), false, false, std::chrono::milliseconds(20));
  ASSERT_TRUE((*other)->Execute("BEGIN IMMEDIATE").ok());
  EXPECT_THAT(archive->Add(Sample("a")).error().message(), HasSubstr("locked by another process"));
  EXPECT_TRUE(archive->List({})->empty());  // readers don't wait
  ASSERT_TRUE((*other)->Execute("ROLLBACK").ok());
  EXPECT_TRUE(archive->Add(Sample("a")).ok());
}

TEST_F(ArchiveTest, SaysThatTheDiskIsFullAndKeepsTheRest) {
  const std::unique_ptr<Archive> archive = Opened({.max_pages = 40});
  int added = 0;
  std::string message;
  while (message.empty() && added < 100) {
    const auto result = archive->Add(Sample(std::string(10000, 'x')));
    if (result.ok()) {
      ++added;
    } else {
      message = result.error().message();
    }
  }
  EXPECT_THAT(message, HasSubstr("no space left"));
  EXPECT_GT(added, 3);
  EXPECT_EQ(archive->List({})->size(), static_cast<size_t>(added));
  EXPECT_EQ(*archive->IntegrityCheck(), "ok");
}

// Root may write everywhere, so this runs as nobody.
TEST_F(ArchiveTest, ReadsButDoesNotWriteInAReadOnlyFolder) {
  ASSERT_TRUE(Opened()->Add(Sample("kept")).ok());
  ASSERT_EQ(::chmod(File().c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(9);
    auto reader = Archive::Open(File(), {.read_only = true});
    if (!reader.ok() || (*reader)->List({})->size() != 1) ::_exit(1);
    auto writer = Archive::Open(File());
    const std::string said = writer.ok() ? (*writer)->Add(Sample("b")).ok() ? "added" : "opened"
                                         : writer.error().message();
    if (said.find("read-only") == std::string::npos) {
      std::fprintf(stderr, "said: %s\n", said.c_str());
      ::_exit(2);
    }
    auto fresh = Archive::Open(folder_ / "new.db");
    ::_exit(!fresh.ok() && fresh.error().message().find("folder is read-only") != std::string::npos
                ? 0
                : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::chmod(folder_.c_str(), 0755);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

}  // namespace
}  // namespace kernelsmith
