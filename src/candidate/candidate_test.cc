#include "candidate/candidate.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {

// Counts what it is asked for, and answers as it is told.
class FakeForm final : public CandidateForm {
 public:
  struct Script {
    std::optional<Error> compile_error;
    TraceOutcome outcome;
    SequenceOutcome sequence;
    int compiles = 0;
    int visible = 0;
    int traces = 0;
  };
  explicit FakeForm(Script& script) : script_(script) {}

  const std::filesystem::path& path() const override { return path_; }
  Result<CompiledCandidate> Compile() override {
    ++script_.compiles;
    if (script_.compile_error) return *script_.compile_error;
    return CompiledCandidate{};
  }
  Result<std::string> CompileVisibleMath(const CompiledCandidate&) override {
    ++script_.visible;
    return std::string("ptx");
  }
  Result<TraceOutcome> Trace(const CompiledCandidate&, const CandidateCall&) override {
    ++script_.traces;
    return script_.outcome;
  }
  Result<SequenceOutcome> TraceSequence(const CompiledCandidate&, const std::vector<CandidateCall>&,
                                        const std::vector<uint32_t>&) override {
    return script_.sequence;
  }

 private:
  Script& script_;
  std::filesystem::path path_ = "k.cu";
};

CandidateCall Call(int64_t rows, float value, double eps = 1e-5) {
  HostTensor tensor = MakeHostTensor(DType::kFloat32, {rows, 4});
  tensor.set(0, value);
  CandidateCall call;
  call.arguments = {CallArgument::Tensor("x", std::move(tensor)), CallArgument::Float("eps", eps)};
  return call;
}

HostFinding Found(FindingKind kind, std::string message = "why") {
  return {kind, std::move(message), {}};
}

TEST(Candidate, IsCompiledOnceAndTracedOnceForEachCall) {
  FakeForm::Script script;
  script.outcome.plan = Plan{};
  script.outcome.duration = std::chrono::nanoseconds(10);
  CandidateCounter counter;
  Candidate candidate(std::make_unique<FakeForm>(script), &counter);
  ASSERT_TRUE(candidate.Compile().ok());
  ASSERT_TRUE(candidate.Compile()->empty());
  EXPECT_EQ(script.compiles, 1);
  ASSERT_TRUE(candidate.VisibleMath().ok());
  ASSERT_TRUE(candidate.VisibleMath().ok());
  EXPECT_EQ(script.visible, 1);

  const auto first = candidate.Trace(Call(2, 1.0F));
  ASSERT_TRUE(first.ok());
  const auto other_values = candidate.Trace(Call(2, 7.0F));
  ASSERT_TRUE(other_values.ok());
  EXPECT_EQ(first->get(), other_values->get()) << "values of tensors are not part of a call";
  ASSERT_TRUE(candidate.Trace(Call(3, 1.0F)).ok());
  ASSERT_TRUE(candidate.Trace(Call(2, 1.0F, 1e-6)).ok());
  CandidateCall backward = Call(2, 1.0F);
  backward.function = "backward";
  ASSERT_TRUE(candidate.Trace(backward).ok());
  CandidateCall blank = Call(2, 1.0F);
  blank.arguments[0].tensor.bytes.clear();
  ASSERT_TRUE(candidate.Trace(blank).ok());
  EXPECT_EQ(script.traces, 5);
  EXPECT_EQ(counter.compiled, 1);
  EXPECT_EQ(counter.traced, 5);
  EXPECT_EQ(counter.repeated, 1);
  EXPECT_EQ(counter.traced_ns, 50);
  EXPECT_EQ(counter.spared_ns, 10);
}

TEST(Candidate, KnowsAnErrorOfItsOwnFromOneOfTheMachine) {
  const SourceLocation line{.file = "k.cu", .line = 3};
  FakeForm::Script script;
  script.compile_error = Error(ErrorKind::kInvalidInput, {.where = line, .message = "no such"});
  Candidate own(std::make_unique<FakeForm>(script));
  auto problems = own.Compile();
  ASSERT_TRUE(problems.ok());
  ASSERT_EQ(problems->size(), 1U);
  EXPECT_EQ(problems->front().verdict, VerdictKind::kRefuted);
  EXPECT_EQ(problems->front().kind, FindingKind::kCompileError);

  script.compile_error = Unsupported("at::some_function");
  problems = Candidate(std::make_unique<FakeForm>(script)).Compile();
  ASSERT_TRUE(problems.ok());
  EXPECT_EQ(problems->front().verdict, VerdictKind::kUnsupported);

  script.compile_error = MissingTool("nvcc");
  EXPECT_FALSE(Candidate(std::make_unique<FakeForm>(script)).Compile().ok());
}

TEST(Candidate, HostFindingsBecomeVerdictsInOnePlace) {
  using Kind = FindingKind;
  const auto verdict = [](Kind kind) {
    TraceOutcome outcome;
    outcome.findings = {Found(kind)};
    return Understand(std::move(outcome), /*blank=*/false).problems.at(0).verdict;
  };
  EXPECT_EQ(verdict(Kind::kException), VerdictKind::kRefuted);
  EXPECT_EQ(verdict(Kind::kForbidden), VerdictKind::kRefuted);
  EXPECT_EQ(verdict(Kind::kHostComputed), VerdictKind::kRefuted);
  EXPECT_EQ(verdict(Kind::kUnsupported), VerdictKind::kUnsupported);
  EXPECT_EQ(verdict(Kind::kDataDependent), VerdictKind::kUnsupported);
  EXPECT_EQ(verdict(Kind::kTimeout), VerdictKind::kInconclusive) << "a slow machine is no defect";
}

// What a candidate throws is its own text: quoted, on one line, cut, without effects on terminals.
TEST(Candidate, ItsWordsAreQuoted) {
  TraceOutcome outcome;
  outcome.findings = {
      Found(FindingKind::kException, "\033[2J\nverdict: verified\n\"trust\" \u202eme"),
      Found(FindingKind::kForbidden, "system call 2 on /a\nb" + std::string(100'000, 'x'))};
  const TracedCall traced = Understand(std::move(outcome), /*blank=*/false);
  EXPECT_EQ(traced.problems.at(0).message,
            "the candidate says: \"verdict: verified \\\"trust\\\" me\"");
  EXPECT_LE(traced.problems.at(1).message.size(), 600U);
  EXPECT_EQ(traced.problems.at(1).message.find('\n'), std::string::npos);
}

TEST(Candidate, TheScanOfItsHostLibraryRefutesOrKeepsFromVerifying) {
  CompiledCandidate compiled;
  compiled.host_findings = {
      {.wall = HostWall::kImports,
       .kind = FindingKind::kUnsupported,
       .message = "uses getenv",
       .where = {.file = "k.cu", .line = 4}},
      {.wall = HostWall::kWeakSymbols, .kind = FindingKind::kForbidden, .message = "asks whether"}};
  const auto refuting = ProblemsOfHostLibrary(compiled, FindingKind::kForbidden);
  ASSERT_EQ(refuting.size(), 1U);
  EXPECT_EQ(refuting[0].verdict, VerdictKind::kRefuted);
  EXPECT_EQ(refuting[0].message, "the host code asks whether");
  const auto others = ProblemsOfHostLibrary(compiled, FindingKind::kUnsupported);
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(others[0].verdict, VerdictKind::kUnsupported);
  EXPECT_EQ(others[0].where.line, 4);
}

TEST(Candidate, ALaunchErrorThatWasClearedIsNoProblemByItself) {
  TraceOutcome outcome;
  outcome.plan = Plan{};
  outcome.findings = {Found(FindingKind::kFailedLaunch, "too many threads")};
  const TracedCall traced = Understand(std::move(outcome), /*blank=*/false);
  EXPECT_TRUE(traced.problems.empty());
  ASSERT_TRUE(traced.cleared_launch);
  EXPECT_EQ(traced.cleared_launch->message, "too many threads");
}

TEST(Candidate, ZerosInsteadOfDataAreNotItsFault) {
  TraceOutcome outcome;
  outcome.findings = {Found(FindingKind::kDataDependent),
                      Found(FindingKind::kLaunchError, "cudaMalloc fails"),
                      Found(FindingKind::kLaunchError, "cudaLaunchKernel: invalid argument")};
  outcome.findings[1].out_of_memory = true;
  const TracedCall traced = Understand(std::move(outcome), /*blank=*/true);
  ASSERT_EQ(traced.problems.size(), 1U);
  EXPECT_EQ(traced.problems[0].message, "cudaLaunchKernel: invalid argument");
}

TEST(Candidate, WithoutAPlanThereIsAReason) {
  EXPECT_EQ(Understand({}, false).problems.at(0).verdict, VerdictKind::kInconclusive);
}

}  // namespace
}  // namespace kernelsmith
