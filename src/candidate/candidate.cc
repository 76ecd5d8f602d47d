#include "candidate/candidate.h"

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

}  // namespace

Result<std::vector<CandidateProblem>> ProblemsOfCompiling(const Error& error) {
  std::vector<CandidateProblem> problems;
  const Diagnostic& first = error.diagnostics().front();
  switch (error.kind()) {
    case ErrorKind::kInvalidInput:
      // Without a place it is about the file, not about what is in it.
      if (first.where.file.empty()) return error;
      for (const Diagnostic& each : error.diagnostics()) {
        problems.push_back(
            {VerdictKind::kRefuted, FindingKind::kCompileError, each.message, each.where});
      }
      return problems;
    case ErrorKind::kUnsupported:
      problems.push_back(
          {VerdictKind::kUnsupported, FindingKind::kUnsupported, first.message, first.where});
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

TracedCall Understand(TraceOutcome outcome, bool blank) {
  TracedCall traced{.plan = std::move(outcome.plan), .duration = outcome.duration};
  for (HostFinding& finding : outcome.findings) {
    if (blank && MayBeOfBlankData(finding)) continue;
    CandidateProblem problem{VerdictOf(finding), finding.kind, std::move(finding.message),
                             std::move(finding.where)};
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
  if (status.ok()) return std::vector<CandidateProblem>();
  return ProblemsOfCompiling(status.error());
}

Result<std::string> Candidate::VisibleMath() {
  const std::lock_guard lock(mutex_);
  if (!visible_math_) visible_math_ = form_->CompileVisibleMath(*compiled_);
  return *visible_math_;
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
  known = std::make_shared<TracedCall>(Understand(std::move(outcome), call.HasBlankTensors()));
  return known;
}

}  // namespace kernelsmith
