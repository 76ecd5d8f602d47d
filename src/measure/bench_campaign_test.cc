#include "measure/bench_campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/testing/fake_process_runner.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

class Campaign : public ::testing::Test {
 protected:
  Campaign() {
    std::string name = (fs::temp_directory_path() / "ks_bench_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    for (const char* each : {"a", "b", "c"}) {
      EXPECT_TRUE(files_.Write(folder_ / (std::string(each) + ".cu"), each).ok());
      items_.push_back(
          {.task = "softmax", .candidate = folder_ / (std::string(each) + ".cu"), .name = each});
    }
    options_.results = folder_ / "out" / "results.jsonl";
    options_.program = {"kernelsmith"};
    processes_.programs = [&](const ProcessRequest& request) { return Answer(request); };
  }
  ~Campaign() override { fs::remove_all(folder_); }

  Result<ProcessResult> Answer(const ProcessRequest& request) {
    if (crash_ && request.argv[2].ends_with("b.cu")) {
      return ProcessResult{.exit_code = 139, .err = "crashed"};
    }
    const BenchResult result{.task = "softmax",
                             .candidate = request.argv[2],
                             .direction = "forward",
                             .dtype = "task",
                             .verdict = "verified",
                             .shapes = {{.configuration = "s", .candidate = 1, .speedup = 2}},
                             .gpu = "h100"};
    if (stop_after_ > 0 && --stop_after_ == 0) stop_ = true;
    return ProcessResult{.out = nlohmann::json{{"candidates", {ToJson(result)}}}.dump()};
  }
  BenchCampaignOutcome Run() {
    processes_.requests.clear();
    SilentProgress progress;
    options_.stop = &stop_;
    const auto outcome = RunBenchCampaign(items_, options_, files_, processes_, progress);
    EXPECT_TRUE(outcome.ok());
    return *outcome;
  }

  fs::path folder_;
  DiskFileSystem files_;
  FakeProcessRunner processes_;
  BenchCampaignOptions options_;
  std::vector<BenchItem> items_;
  std::atomic<bool> stop_ = false;
  int stop_after_ = 0;
  bool crash_ = false;
};

TEST_F(Campaign, GoesOnWhereItWasStopped) {
  stop_after_ = 1;
  EXPECT_EQ(Run().missing, 2u);
  stop_ = false;
  const BenchCampaignOutcome rest = Run();
  EXPECT_EQ(rest.known, 1u);
  EXPECT_EQ(rest.missing, 0u);
  EXPECT_EQ(processes_.requests.size(), 2u);
  ASSERT_EQ(rest.results.size(), 3u);
  EXPECT_EQ(rest.results[1].candidate, "b");
}

TEST_F(Campaign, ChangedCandidatesOptionsAndProgramsAreAskedAgain) {
  Run();
  EXPECT_TRUE(files_.Write(folder_ / "b.cu", "other").ok());
  Run();
  EXPECT_EQ(processes_.requests.size(), 1u);
  options_.options = {"--gpu", "t4"};
  Run();
  EXPECT_EQ(processes_.requests.size(), 3u);
  options_.version = "2";
  Run();
  EXPECT_EQ(processes_.requests.size(), 3u);
}

// A line that a crash tore is no answer, and does not spoil the next one.
TEST_F(Campaign, SurvivesATornLine) {
  Run();
  const std::string text = *files_.Read(options_.results);
  EXPECT_TRUE(files_.Write(options_.results, text.substr(0, text.size() - 5)).ok());
  EXPECT_EQ(Run().known, 2u);
  EXPECT_EQ(Run().known, 3u);
}

TEST_F(Campaign, ACrashIsAnAnswerButNotKept) {
  crash_ = true;
  const BenchCampaignOutcome outcome = Run();
  EXPECT_EQ(outcome.results[1].verdict, "error");
  EXPECT_EQ(outcome.results[1].reason, "exit code 139: crashed");
  EXPECT_FALSE(outcome.results[1].Speedup());
  crash_ = false;
  EXPECT_EQ(Run().results[1].verdict, "verified");
  EXPECT_EQ(processes_.requests.size(), 1u);
}

}  // namespace
}  // namespace kernelsmith
