#include "candidate/candidate.h"

#include <string_view>

#include "support/foreign_line.h"

namespace kernelsmith {
namespace {

VerdictKind VerdictOf(const HostFinding& finding) {
  // The limit is one of wall-clock time: a busy machine must not refute anybody.
  if (finding.kind == FindingKind::kTimeout) return VerdictKind::kInconclusive;
  return Refutes(finding.kind) ? VerdictKind::kRefuted : VerdictKind::kUnsupported;
}

// True if values instead of zeros could have made it different, or a GPU with more memory.
bool MayBeOfBlankData(const HostFinding& finding) {
  return finding.kind == FindingKind::kDataDependent ||
         finding.kind == FindingKind::kHostComputed || finding.kind == FindingKind::kTimeout ||
         finding.out_of_memory;
}

// Whatever comes from the traced child may be the candidate's text: it is cleaned, put on one line
// and cut. What it threw is quoted, since it is a sentence of its own.
std::string MessageOf(const HostFinding& finding) {
  if (finding.kind != FindingKind::kException) return OneForeignLine(finding.message);
  return "the candidate says: " + QuoteForeign(finding.message);
}

CandidateProblem ProblemOf(const HostFinding& finding) {
  return {VerdictOf(finding), finding.kind, MessageOf(finding), finding.where};
}

}  // namespace

Result<std::vector<CandidateProblem>> ProblemsOfCompiling(const Error& error) {
  std::vector<CandidateProblem> problems;
  const Diagnostic& first = error.diagnostics().front();
  switch (error.kind()) {
    case ErrorKind::kInvalidInput:
      // Without a place it is about the file, not about what is in it.
      if (first.where.file.empty()) return error;
      for (const Diagnostic& each : error.diagnostics()) {
        problems.push_back({VerdictKind::kRefuted, FindingKind::kCompileError,
                            OneForeignLine(each.message), each.where});
      }
      return problems;
    case ErrorKind::kUnsupported:
      problems.push_back({VerdictKind::kUnsupported, FindingKind::kUnsupported,
                          OneForeignLine(first.message), first.where});
      return problems;
    case ErrorKind::kTimeout:
      problems.push_back(
          {VerdictKind::kInconclusive, FindingKind::kTimeout, first.message, first.where});
      return problems;
    case ErrorKind::kMissingTool:
    case ErrorKind::kInternal:
      return error;
  }
  return error;
}

std::vector<CandidateProblem> ProblemsOfHostLibrary(const CompiledCandidate& compiled,
                                                    FindingKind kind) {
  std::vector<CandidateProblem> problems;
  for (const HostLibraryFinding& finding : compiled.host_findings) {
    if (finding.kind != kind) continue;
    problems.push_back({Refutes(kind) ? VerdictKind::kRefuted : VerdictKind::kUnsupported, kind,
                        "the host code " + OneForeignLine(finding.message), finding.where});
  }
  return problems;
}

TracedCall Understand(TraceOutcome outcome, bool blank) {
  TracedCall traced{.plan = std::move(outcome.plan), .duration = outcome.duration};
  for (HostFinding& finding : outcome.findings) {
    if (blank && MayBeOfBlankData(finding)) continue;
    CandidateProblem problem = ProblemOf(finding);
    if (finding.kind == FindingKind::kFailedLaunch) {
      traced.cleared_launch = std::move(problem);
    } else {
      traced.problems.push_back(std::move(problem));
    }
  }
  if (!traced.plan && traced.problems.empty()) {
    traced.problems.push_back(
        {VerdictKind::kInconclusive, FindingKind::kNoPlan, "the host code has no plan", {}});
  }
  return traced;
}

const CandidateProblem* TracedCall::Refuting() const {
  for (const CandidateProblem& problem : problems) {
    if (problem.verdict == VerdictKind::kRefuted) return &problem;
  }
  return nullptr;
}

Status Candidate::CompileOrFail() {
  const std::lock_guard lock(mutex_);
  if (!compiled_ && !compile_error_) {
    ++counter_->compiled;
    Result<CompiledCandidate> compiled = form_->Compile();
    if (compiled.ok()) {
      compiled_ = *std::move(compiled);
    } else {
      compile_error_ = compiled.error();
    }
  }
  return compile_error_ ? Status(*compile_error_) : Status();
}

Result<std::vector<CandidateProblem>> Candidate::Compile() {
  const Status status = CompileOrFail();
  if (status.ok()) return ProblemsOfHostLibrary(*compiled_, FindingKind::kForbidden);
  return ProblemsOfCompiling(status.error());
}

Result<std::string> Candidate::VisibleMath() {
  const std::lock_guard lock(mutex_);
  if (!visible_math_) visible_math_ = form_->CompileVisibleMath(*compiled_);
  return *visible_math_;
}

const counters::PtxasAnswer& Candidate::Assembled() {
  const std::lock_guard lock(mutex_);
  if (!assembled_) assembled_ = form_->Assemble(*compiled_);
  return *assembled_;
}

Result<std::shared_ptr<const TracedCall>> Candidate::Trace(const CandidateCall& call) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const TracedCall>& known = traced_[call.Identity()];
  if (known != nullptr) {
    ++counter_->repeated;
    counter_->spared_ns += known->duration.count();
    return known;
  }
  KS_TRY(TraceOutcome outcome, form_->Trace(*compiled_, call));
  ++counter_->traced;
  counter_->traced_ns += outcome.duration.count();
  TracedCall traced = Understand(std::move(outcome), call.HasBlankTensors());
  // Last: what the host code did counts for more than what it could do.
  for (CandidateProblem& problem : ProblemsOfHostLibrary(*compiled_, FindingKind::kUnsupported)) {
    traced.problems.push_back(std::move(problem));
  }
  known = std::make_shared<TracedCall>(std::move(traced));
  return known;
}

Result<TracedSequence> Candidate::TraceSequence(const std::vector<CandidateCall>& calls,
                                                const std::vector<uint32_t>& sequence) {
  const std::lock_guard lock(mutex_);
  KS_TRY(SequenceOutcome outcome, form_->TraceSequence(*compiled_, calls, sequence));
  TracedSequence traced{
      .history = std::move(outcome.history), .problems = {}, .cleared_launch = {}};
  for (const HostFinding& finding : outcome.findings) {
    if (finding.kind == FindingKind::kFailedLaunch) {
      traced.cleared_launch = ProblemOf(finding);
    } else {
      traced.problems.push_back(ProblemOf(finding));
    }
  }
  return traced;
}

}  // namespace kernelsmith
