// A candidate on its way from a file to plans. It is compiled once and traced once for each call,
// whoever asks: verification, checkers, estimates, comparison and evolution are handed the same
// object, and what the compilers and the host code get wrong becomes words in one place.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "candidate/call.h"
#include "compile/compile.h"
#include "plan/plan.h"
#include "plan/trace.h"
#include "support/diagnostic.h"
#include "support/finding_kind.h"
#include "support/result.h"
#include "support/verdict_kind.h"

namespace kernelsmith {

// One fact that keeps a candidate from being judged.
struct CandidateProblem {
  VerdictKind verdict = VerdictKind::kUnsupported;  // what it makes of the candidate
  FindingKind kind = FindingKind::kUnsupported;
  std::string message;
  SourceLocation where;
};

struct TracedCall {
  std::optional<Plan> plan;  // none: the first problem says why
  // They may be there beside a plan: system calls that were refused, for example. Without a plan
  // there is at least one.
  std::vector<CandidateProblem> problems;
  // A launch failed, the host code cleared the error, and the plan goes without that launch.
  // Whether it matters, the results say.
  std::optional<CandidateProblem> cleared_launch;
  std::chrono::nanoseconds duration{0};

  // The first problem that shows the candidate to be wrong; null: none does.
  const CandidateProblem* Refuting() const;
};

// Many calls in one process. Those are listed that differ from the ones before them.
struct TracedSequence {
  CallHistory history;                             // without plans: the first problem says why
  std::vector<CandidateProblem> problems;          // they may be there beside plans
  std::optional<CandidateProblem> cleared_launch;  // as TracedCall's
};

// How files of one form become modules and plans. CUDA sources are the only form so far
// (cuda_file.h). Nothing behind the plan knows which form it came from.
class CandidateForm {
 public:
  virtual ~CandidateForm() = default;
  virtual const std::filesystem::path& path() const = 0;
  virtual Result<CompiledCandidate> Compile() = 0;
  // The device code with math functions as calls (CandidateCompiler::CompileVisibleMath).
  virtual Result<std::string> CompileVisibleMath(const CompiledCandidate& compiled) = 0;
  // The device code by NVIDIA's assembler; nothing for forms that have none.
  virtual counters::PtxasAnswer Assemble(const CompiledCandidate& /*compiled*/) { return {}; }
  virtual Result<TraceOutcome> Trace(const CompiledCandidate& compiled,
                                     const CandidateCall& call) = 0;
  // Call i is calls[sequence[i]]; all of them have the same function.
  virtual Result<SequenceOutcome> TraceSequence(const CompiledCandidate& compiled,
                                                const std::vector<CandidateCall>& calls,
                                                const std::vector<uint32_t>& sequence) = 0;
};

// How much work candidates were. One counter may serve many of them.
struct CandidateCounter {
  std::atomic<int> compiled = 0;  // candidates that compilers were asked about
  std::atomic<int> traced = 0;    // calls whose host code ran
  std::atomic<int> repeated = 0;  // calls that were asked for again, and did not run again
  // How long the host code's runs took, and how long those took that need not be made again.
  std::atomic<int64_t> traced_ns = 0;
  std::atomic<int64_t> spared_ns = 0;
};

// Safe to use from several threads, after Compile().
class Candidate {
 public:
  explicit Candidate(std::unique_ptr<CandidateForm> form, CandidateCounter* counter = nullptr)
      : form_(std::move(form)), counter_(counter != nullptr ? counter : &own_counter_) {}

  const std::filesystem::path& path() const { return form_->path(); }

  // Compiles it when first asked. What the compilers object to is a list of problems, empty for a
  // candidate that is fine. An error means that nobody could compile it here: a missing tool, an
  // unreadable file.
  Result<std::vector<CandidateProblem>> Compile();
  // The same for callers who do not judge: the compilers' own words are an error.
  Status CompileOrFail();
  // After either without problems.
  const CompiledCandidate& compiled() const { return *compiled_; }
  Result<std::string> VisibleMath();
  // What the assembler says, when it was first asked.
  const counters::PtxasAnswer& Assembled();

  // The plan of a call, traced when a call of this identity is first asked for. An error means that
  // tracing was not possible at all.
  Result<std::shared_ptr<const TracedCall>> Trace(const CandidateCall& call);
  // Many calls in one process (CandidateForm::TraceSequence).
  Result<TracedSequence> TraceSequence(const std::vector<CandidateCall>& calls,
                                       const std::vector<uint32_t>& sequence);

 private:
  std::unique_ptr<CandidateForm> form_;
  CandidateCounter own_counter_;
  CandidateCounter* counter_;
  std::mutex mutex_;
  std::optional<CompiledCandidate> compiled_;
  std::optional<Error> compile_error_;
  std::optional<Result<std::string>> visible_math_;
  std::optional<counters::PtxasAnswer> assembled_;
  std::map<std::string, std::shared_ptr<const TracedCall>> traced_;  // by CandidateCall::Identity
};

// What the compiler's error makes of a candidate. An error: it is nobody's fault here.
Result<std::vector<CandidateProblem>> ProblemsOfCompiling(const Error& error);
// What the scan of the host library found of one kind. kForbidden ones are known before anything
// runs; kUnsupported ones keep a candidate from being verified, but a run may still refute it.
std::vector<CandidateProblem> ProblemsOfHostLibrary(const CompiledCandidate& compiled,
                                                    FindingKind kind);
// What tracing found, in the words of a verdict. Of blank calls nothing is kept that data could
// have changed.
TracedCall Understand(TraceOutcome outcome, bool blank);

}  // namespace kernelsmith
