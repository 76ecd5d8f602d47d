// Each wall around host code: with it a candidate of tests/candidates/walls fails at what it tries,
// without it the same candidate does it. Where two walls guard the same thing, the other one is
// left out in both runs.
#include "plan/walls.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "device/candidate_harness.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

struct Wall {
  const char* name;
  std::vector<std::string> others;  // that guard the same thing
  bool has_finding;                 // the attempt itself is told
};

class Walls : public testing::TestWithParam<Wall> {
 protected:
  // Things of the judge that are there to be found.
  void SetUp() override {
    harness_.processes().SetForAll({{"KS_CANARY", "secret"}});
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, "\0ks_canary", 10);
    const socklen_t length = offsetof(sockaddr_un, sun_path) + 10;
    // Tests run at the same time: another one's does as well.
    (void)::bind(listener_, reinterpret_cast<sockaddr*>(&address), length);
    (void)::listen(listener_, 8);
  }
  void TearDown() override { ::close(listener_); }

  TraceOutcome Run(const std::vector<std::string>& without) {
    const fs::path source = fs::path(KS_SOURCE_DIR) / "tests" / "candidates" / "walls" /
                            (std::string(GetParam().name) + ".cu");
    const auto candidate = harness_.Compile(source);
    EXPECT_TRUE(candidate.ok()) << candidate.error().Format();
    if (!candidate.ok()) return {};
    const auto parsed = ParseCase(candidate->text);
    EXPECT_TRUE(parsed.ok());
    auto traced = Trace(*candidate, parsed->arguments,
                        {.tracer = KS_TRACER_PROGRAM,
                         .timeout = std::chrono::seconds(60),
                         .memory_bytes = uint64_t{1} << 30,
                         .without_walls = without},
                        harness_.processes());
    EXPECT_TRUE(traced.ok());
    return traced.ok() ? *std::move(traced) : TraceOutcome{};
  }

  CandidateHarness harness_;
  int listener_ = -1;
};

TEST_P(Walls, HoldsAndIsNeeded) {
  std::vector<std::string> without = GetParam().others;
  const TraceOutcome with = Run(without);
  EXPECT_EQ(with.printed.find("BREACH"), std::string::npos) << with.printed;
  if (GetParam().has_finding) {
    ASSERT_FALSE(with.findings.empty());
    EXPECT_EQ(with.findings[0].kind, FindingKind::kForbidden) << with.findings[0].message;
  }
  without.emplace_back(GetParam().name);
  const TraceOutcome bare = Run(without);
  EXPECT_NE(bare.printed.find("BREACH"), std::string::npos) << bare.printed;
}

INSTANTIATE_TEST_SUITE_P(
    Candidates, Walls,
    testing::Values(Wall{walls::kEnvironment, {}, false}, Wall{walls::kDescriptors, {}, false},
                    Wall{walls::kLandlock, {walls::kCalls}, false},
                    Wall{walls::kNamespaces, {walls::kCalls}, false}, Wall{walls::kCalls, {}, true},
                    Wall{walls::kInstructions, {}, true}, Wall{walls::kChannel, {}, true},
                    Wall{walls::kCode, {}, true}, Wall{walls::kMemory, {}, false}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kernelsmith
