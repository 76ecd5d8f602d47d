// The cheats of tests/adversarial/80_host_tells, each stopped by one wall: with the wall they have
// a problem, and without it they have a plan and none, which is how they would come to be verified.
#include <gtest/gtest.h>

#include <filesystem>

#include "candidate/cuda_file.h"
#include "support/testing/real_settings.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

struct Cheat {
  const char* name;
  std::vector<HostWall> walls;  // none: the comparison of two runs finds it
};

void PrintTo(const Cheat& cheat, std::ostream* out) { *out << cheat.name; }

// Machines that run tests are busy.
constexpr std::chrono::minutes kPatience{10};

CandidateCall Axpy() {
  HostTensor x = MakeHostTensor(DType::kFloat32, {8, 16});
  HostTensor y = MakeHostTensor(DType::kFloat32, {8, 16});
  for (int64_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>(i % 7) - 3);
  CandidateCall call;
  call.arguments = {CallArgument::Tensor("x", std::move(x)),
                    CallArgument::Tensor("y", std::move(y))};
  return call;
}

class Tools {
 protected:
  DiskFileSystem files_;
  SystemProcessRunner processes_;
  ToolFinder tools_{processes_, files_, RealSettings().tools, KS_SOURCE_DIR};
  CandidateCompiler compiler_{files_, processes_, tools_, RealSettings().folders};
};

class HostWalls : public Tools, public testing::TestWithParam<Cheat> {
 protected:
  // What keeps a candidate from being judged, and whether it has a plan.
  struct Outcome {
    std::vector<CandidateProblem> problems;
    bool plan = false;
  };
  Outcome Judge(const std::string& name, bool with_wall) {
    CompileOptions compile{.timeout = kPatience};
    TraceOptions trace{.timeout = kPatience};
    if (!with_wall) {
      compile.removed_walls = GetParam().walls;
      trace.merge.all_is_padding = GetParam().walls.empty();
    }
    const auto candidate = OpenCandidate(
        fs::path(KS_SOURCE_DIR) / "tests" / "adversarial" / "80_host_tells" / (name + ".cu"),
        {.compiler = compiler_, .processes = processes_, .compile = compile, .trace = trace});
    const auto compiled = candidate->Compile();
    EXPECT_TRUE(compiled.ok()) << compiled.error().Format();
    if (!compiled.ok() || !compiled->empty()) {
      return {compiled.ok() ? *compiled : std::vector<CandidateProblem>()};
    }
    const auto traced = candidate->Trace(Axpy());
    EXPECT_TRUE(traced.ok());
    if (!traced.ok()) return {};
    return {(*traced)->problems, (*traced)->plan.has_value()};
  }
};

TEST_P(HostWalls, StopACheatThatPassesWithoutThem) {
  const Outcome with = Judge(GetParam().name, true);
  ASSERT_FALSE(with.problems.empty());
  const CandidateProblem& problem = with.problems.front();
  if (!GetParam().walls.empty()) EXPECT_GT(problem.where.line, 0) << problem.message;
  const Outcome without = Judge(GetParam().name, false);
  for (const CandidateProblem& each : without.problems) ADD_FAILURE() << each.message;
  EXPECT_TRUE(without.plan);
}

INSTANTIATE_TEST_SUITE_P(Cheats, HostWalls,
                         testing::Values(Cheat{"weak_python", {HostWall::kWeakSymbols}},
                                         Cheat{"weak_torch", {HostWall::kWeakSymbols}},
                                         Cheat{"renamed_environment", {HostWall::kImports}},
                                         Cheat{"symbol_by_name", {HostWall::kImports}},
                                         Cheat{"random_device", {HostWall::kImports}},
                                         Cheat{"raw_system_call", {HostWall::kInstructions}},
                                         Cheat{"hidden_system_call", {HostWall::kInstructions}},
                                         Cheat{"processor_clock", {HostWall::kInstructions}},
                                         Cheat{"own_runtime", {HostWall::kDefinitions}},
                                         Cheat{"own_image", {HostWall::kRegistration}},
                                         Cheat{"stack_address", {}}, Cheat{"read_padding", {}}),
                         [](const auto& info) { return std::string(info.param.name); });

class HonestHostCode : public Tools, public testing::Test {};

TEST_F(HonestHostCode, IsLeftAlone) {
  for (const char* name : {"honest_padding", "honest_lambda", "honest_library"}) {
    SCOPED_TRACE(name);
    const auto candidate = OpenCandidate(fs::path(KS_SOURCE_DIR) / "tests" / "adversarial" /
                                             "80_host_tells" / (std::string(name) + ".cu"),
                                         {.compiler = compiler_,
                                          .processes = processes_,
                                          .compile = {.timeout = kPatience},
                                          .trace = {.timeout = kPatience}});
    const auto compiled = candidate->Compile();
    ASSERT_TRUE(compiled.ok()) << compiled.error().Format();
    ASSERT_TRUE(compiled->empty()) << compiled->front().message;
    const auto traced = candidate->Trace(Axpy());
    ASSERT_TRUE(traced.ok());
    for (const CandidateProblem& each : (*traced)->problems) ADD_FAILURE() << each.message;
    EXPECT_TRUE((*traced)->plan.has_value());
  }
}

}  // namespace
}  // namespace kernelsmith
