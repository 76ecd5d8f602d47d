#include "mutate/campaign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/testing/fake_clock.h"
#include "support/testing/fake_process_runner.h"

namespace kernelsmith::mutate {
namespace {

namespace fs = std::filesystem;

constexpr char kKernel[] =
    "// Backward, float16: x\n__global__ void k(int n) { if (a < n) b(); if (c < n) d(); }\n";

// Two kernels with two mutants each, and a verifier that refutes every mutant.
class CampaignTest : public testing::Test {
 protected:
  CampaignTest()
      : folder_(fs::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()),
        tools_(processes_, files_, ToolSettings{}, folder_),
        compiler_(files_, processes_, tools_, {}) {
    fs::remove_all(folder_);
    for (const char* name : {"a/k", "b/k"}) {
      const fs::path path = folder_ / "kernels" / (std::string(name) + ".cu");
      fs::create_directories(path.parent_path());
      EXPECT_TRUE(files_.Write(path, kKernel).ok());
    }
    options_.output = folder_ / "out";
    options_.operators = {"wrong_bound"};
    options_.verifier = {"ks"};
    processes_.programs = [this](const ProcessRequest& request) -> Result<ProcessResult> {
      clock_.Advance(std::chrono::seconds(10));
      ProcessResult result;
      if (request.argv[0] != "ks") {
        result.out = "No, it is wrong.\n";
        return result;
      }
      const bool right = request.argv[3].find("kernels") != std::string::npos;
      result.out = right ? R"({"verdict": "verified"})"
                         : R"({"verdict": "refuted", "findings": [{"kind": "wrong_value"}]})";
      return result;
    };
  }

  std::vector<Judged> Run() {
    const std::vector<CorpusKernel> kernels = ReadCorpus(files_, folder_ / "kernels").value();
    return RunCampaign(kernels, options_, files_, processes_, compiler_, clock_, progress_).value();
  }

  fs::path folder_;
  DiskFileSystem files_;
  FakeProcessRunner processes_;
  ToolFinder tools_;
  CandidateCompiler compiler_;
  FakeClock clock_;
  SilentProgress progress_;
  CampaignOptions options_;
};

TEST_F(CampaignTest, JudgesRightKernelsThenMutantsInTurn) {
  const std::vector<Judged> judged = Run();
  ASSERT_EQ(judged.size(), 6U);
  ASSERT_EQ(processes_.requests.size(), 6U);
  std::vector<std::string> folders;
  for (const ProcessRequest& request : processes_.requests) folders.push_back(request.argv[2]);
  EXPECT_EQ(folders, (std::vector<std::string>{"a", "b", "a", "b", "a", "b"}));
  const std::vector<std::string>& words = processes_.requests[0].argv;
  EXPECT_NE(std::find(words.begin(), words.end(), "--backward"), words.end());
  EXPECT_NE(std::find(words.begin(), words.end(), "float16"), words.end());
  const Summary summary = Summarise(judged, {});
  EXPECT_EQ(summary.verifier.wrong_refuted, 4U);
  EXPECT_EQ(summary.verifier.right_passed, 2U);
}

TEST_F(CampaignTest, GoesOnWhereItWasStopped) {
  options_.limit = std::chrono::seconds(25);  // three verifications of ten seconds
  EXPECT_EQ(Run().size(), 3U);
  processes_.requests.clear();
  options_.limit = std::chrono::seconds(0);
  EXPECT_EQ(Run().size(), 6U);
  EXPECT_EQ(processes_.requests.size(), 3U);
  // A kernel that has changed is judged again.
  EXPECT_TRUE(files_.Write(folder_ / "kernels" / "a" / "k.cu", std::string(kKernel) + "\n").ok());
  processes_.requests.clear();
  EXPECT_EQ(Run().size(), 6U);
  EXPECT_EQ(processes_.requests.size(), 3U);
}

TEST_F(CampaignTest, AsksOutsideVerifiers) {
  options_.outside = {{"other", "ask"}};
  for (const Judged& each : Run()) EXPECT_EQ(each.outside.at("other"), "no");
}

TEST_F(CampaignTest, AVerifierThatHangsIsAnAnswer) {
  processes_.programs = [](const ProcessRequest&) -> Result<ProcessResult> {
    return ProcessResult{.timed_out = true};
  };
  for (const Judged& each : Run()) EXPECT_EQ(each.outcome, "error");
}

}  // namespace
}  // namespace kernelsmith::mutate
