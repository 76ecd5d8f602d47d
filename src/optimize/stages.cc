#include "optimize/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compile/device_names.h"
#include "evolve/ptx_identity.h"
#include "plan/plan_text.h"
#include "tasks/hash.h"
#include "verify/first_look.h"
#include "verify/verify.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

// Of the best time so far: what is slower is not verified even if it is the first of its kind. A
// verification costs ten times what everything before it does, and what is a quarter behind seldom
// has a child that leads.
constexpr double kHopeless = 1.25;

// What compiling and tracing made.
struct Traced : Artifact {
  std::filesystem::path file;
  MeasuredPlan timed;
};

json FindingJson(FindingKind kind, const std::string& message, const SourceLocation& where) {
  json finding = {{"kind", Name(kind)}, {"message", message}};
  if (where.line > 0) finding["line"] = where.line;
  return finding;
}

// What a stage could not do. The candidate is at fault only where the compiler names a line of it
// or takes forever; a missing tool or a PyTorch that does not answer ends the run, which can go on.
StageOutcome Failure(ArchivedCandidate& candidate, const Error& error, bool compiling = false) {
  const ErrorKind kind = error.kind();
  if (kind == ErrorKind::kMissingTool || kind == ErrorKind::kInternal ||
      (kind == ErrorKind::kTimeout && !compiling)) {
    return StageOutcome::Broken(error);
  }
  const bool own =
      kind == ErrorKind::kInvalidInput && !error.diagnostics().front().where.file.empty();
  const FindingKind finding = own                               ? FindingKind::kCompileError
                              : kind == ErrorKind::kUnsupported ? FindingKind::kUnsupported
                              : kind == ErrorKind::kTimeout     ? FindingKind::kTimeout
                                                                : FindingKind::kError;
  for (const Diagnostic& each : error.diagnostics()) {
    candidate.findings.push_back(FindingJson(finding, each.message, each.where));
  }
  return StageOutcome::Reject(own                               ? "refuted"
                              : kind == ErrorKind::kUnsupported ? "unsupported"
                                                                : "inconclusive",
                              error.message());
}

// Findings of a verdict that is not `verified`.
StageOutcome FromVerdict(ArchivedCandidate& candidate, const Verdict& verdict) {
  candidate.findings = ToJson(verdict)["findings"];
  if (verdict.kind == VerdictKind::kVerified) return StageOutcome::Pass();
  const Finding* deciding = verdict.Deciding();
  // Host code that took too long may have had no processor: here many candidates share the machine.
  const bool slow = deciding != nullptr && deciding->kind == FindingKind::kTimeout;
  return StageOutcome::Reject(slow ? "inconclusive" : Name(verdict.kind),
                              deciding == nullptr
                                  ? std::string(Name(verdict.kind))
                                  : fmt::format("{}: {}", Name(deciding->kind), deciding->message));
}

// The plan's text with kernels named by their place in the module: two files that differ in names
// alone are the same candidate.
std::string PlanWithoutNames(Plan plan, const std::string& ptx) {
  const Result<DeviceNames> names = DeviceNamesOf(ptx);
  for (std::vector<PlanStep>* steps : {&plan.preparation, &plan.steps}) {
    for (PlanStep& step : *steps) {
      step.site = 0;  // an address of the host code
      auto* launch = std::get_if<LaunchStep>(&step.action);
      if (launch == nullptr || !names.ok()) continue;
      const std::vector<std::string>& kernels = names->kernels;
      const auto at = std::find(kernels.begin(), kernels.end(), launch->kernel);
      if (at != kernels.end()) launch->kernel = fmt::format("kernel{}", at - kernels.begin());
    }
  }
  return FormatPlan(plan);
}

class OptimizeStage : public Stage {
 public:
  OptimizeStage(const OptimizeSubject& subject, Workshop& workshop)
      : subject_(subject), workshop_(workshop) {}

 protected:
  const OptimizeSubject& subject_;
  Workshop& workshop_;
};

class CompileCandidate : public OptimizeStage {
 public:
  using OptimizeStage::OptimizeStage;
  std::string name() const override { return "compile"; }

  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>& artifact,
                   const Standing&) override {
    auto traced = std::make_unique<Traced>();
    traced->file = SourcePath(subject_, candidate.source);
    FileSystem& files = workshop_.tools().files;
    if (!files.Exists(traced->file)) {
      if (Status written = files.Write(traced->file, candidate.source); !written.ok()) {
        return Failure(candidate, written.error());
      }
    }
    Result<Workshop::Lease> bench = workshop_.Take();
    if (!bench.ok()) return Failure(candidate, bench.error());
    Result<CompiledCandidate> compiled = (*bench)->compiler->Compile(traced->file, {});
    if (!compiled.ok()) return Failure(candidate, compiled.error(), /*compiling=*/true);
    traced->timed.candidate = *std::move(compiled);
    traced->timed.call = subject_.timed;
    // Two shapes: the same kernels may be launched alike at one and not at the other.
    std::string host;
    for (const MeasuredCall* call : {subject_.quick.get(), subject_.timed.get()}) {
      if (call == nullptr) continue;
      Result<TraceOutcome> outcome =
          Trace(traced->timed.candidate, call->arguments, call->trace, workshop_.tools().processes);
      if (!outcome.ok()) return Failure(candidate, outcome.error());
      if (!outcome->plan) return NoPlan(candidate, *outcome);
      traced->timed.plan = *std::move(outcome->plan);
      host += PlanWithoutNames(traced->timed.plan, traced->timed.candidate.ptx);
    }
    candidate.ptx_hash = CandidateIdentity(traced->timed.candidate.ptx, host);
    artifact = std::move(traced);
    return StageOutcome::Pass();
  }

 private:
  static StageOutcome NoPlan(ArchivedCandidate& candidate, const TraceOutcome& outcome) {
    if (outcome.findings.empty()) {
      return StageOutcome::Reject("inconclusive", "the host code has no plan");
    }
    for (const HostFinding& each : outcome.findings) {
      candidate.findings.push_back(FindingJson(each.kind, each.message, each.where));
    }
    const HostFinding& first = outcome.findings.front();
    const bool slow = first.kind == FindingKind::kTimeout;  // see FromVerdict
    return StageOutcome::Reject(slow                  ? "inconclusive"
                                : Refutes(first.kind) ? "refuted"
                                                      : "unsupported",
                                fmt::format("{}: {}", Name(first.kind), first.message));
  }
};

VerifyOptions OptionsOf(const OptimizeSubject& subject, uint64_t seed) {
  VerifyOptions options;
  options.direction = subject.request.direction;
  options.dtype = subject.request.dtype;
  options.seed = seed;
  return options;
}

using Verifier = Result<Verdict>(const VerifyOptions& options, const VerifyTools& tools);

Result<Verdict> VerifyFile(const OptimizeSubject& subject, Workshop& workshop, uint64_t seed,
                           const std::function<Verifier>& verify) {
  KS_TRY(const Workshop::Lease bench, workshop.Take());
  SilentProgress progress;
  const OptimizeTools& tools = workshop.tools();
  return verify(OptionsOf(subject, seed), {.tasks = tools.tasks,
                                           .compiler = *bench->compiler,
                                           .processes = tools.processes,
                                           .device = *bench->device,
                                           .files = tools.files,
                                           .clock = tools.clock,
                                           .progress = progress});
}

Result<Verdict> VerifyWholeFile(const OptimizeSubject& subject, Workshop& workshop,
                                const std::filesystem::path& file, uint64_t seed) {
  return VerifyFile(subject, workshop, seed, [&](const auto& options, const auto& tools) {
    return Verify(subject.task, file, options, tools);
  });
}

// What most wrong candidates fail at, before anybody spends time on their speed.
class QuickCheck : public OptimizeStage {
 public:
  using OptimizeStage::OptimizeStage;
  std::string name() const override { return "quick"; }

  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>& artifact,
                   const Standing&) override {
    const std::filesystem::path& file = static_cast<Traced&>(*artifact).file;
    const Result<Verdict> verdict = VerifyFile(
        subject_, workshop_, subject_.verify_seed, [&](const auto& options, const auto& tools) {
          return FirstLook(subject_.task, file, options, tools);
        });
    if (!verdict.ok()) return Failure(candidate, verdict.error());
    return FromVerdict(candidate, *verdict);
  }
};

class EstimateTime : public OptimizeStage {
 public:
  using OptimizeStage::OptimizeStage;
  std::string name() const override { return "estimate"; }

  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>& artifact,
                   const Standing& standing) override {
    Result<Workshop::Lease> bench = workshop_.Take();
    if (!bench.ok()) return Failure(candidate, bench.error());
    const OptimizeTools& tools = workshop_.tools();
    const Result<PlanProfile> profile = ProfilePlan(static_cast<Traced&>(*artifact).timed,
                                                    *(*bench)->device, tools.tools, tools.processes,
                                                    {.gpu = subject_.request.gpu,
                                                     .max_blocks = subject_.request.blocks,
                                                     .seed = subject_.request.seed});
    if (!profile.ok()) return Failure(candidate, profile.error());
    if (!profile->failure.empty()) {
      candidate.findings.push_back(FindingJson(profile->failure_kind, profile->failure, {}));
      return StageOutcome::Reject(
          "refuted",
          fmt::format("fault at {}: {}", subject_.timed->configuration.name, profile->failure));
    }
    for (const StepProfile& step : profile->steps) {
      // The virtual GPU has no registers to run out of.
      if (step.kind != StepProfile::Kind::kLaunch || step.counters.resident_blocks > 0) continue;
      const std::string why = fmt::format(
          "kernel {} can't be launched on {}: a block of {} threads with {} registers each and {} "
          "bytes of shared memory does not fit on an SM",
          step.name, subject_.request.gpu->key, step.counters.block.Count(),
          step.counters.registers, step.counters.shared_bytes);
      candidate.findings.push_back(FindingJson(FindingKind::kLaunchError, why, {}));
      return StageOutcome::Reject("refuted", "launch_error: " + why);
    }
    const PlanEstimate estimate = EstimatePlan(*profile, subject_.floor, *subject_.request.gpu);
    candidate.time_ns = estimate.seconds * 1e9;
    candidate.time_kind = "estimated";
    candidate.gpu = subject_.request.gpu->key;
    candidate.counters = ToJson(*profile);
    candidate.counters["device_us"] = estimate.device_seconds * 1e6;
    candidate.counters["at_floor"] = estimate.at_floor;
    candidate.limits = ToJson(estimate)["steps"];
    candidate.cell = CellOf(estimate);
    return StillPasses(candidate, standing);
  }

  StageOutcome StillPasses(const ArchivedCandidate& candidate,
                           const Standing& standing) const override {
    const double time = *candidate.time_ns;
    if (standing.best_ns && time > kHopeless * *standing.best_ns) {
      return StageOutcome::Reject("rejected", fmt::format("slow: {:.1f} times as long as the best",
                                                          time / *standing.best_ns));
    }
    if (!standing.WouldBeElite(candidate.cell, time)) {
      return StageOutcome::Reject(
          "rejected", fmt::format("slow: {} is not faster than the best with {} ({})",
                                  FormatSeconds(time * 1e-9), candidate.cell,
                                  FormatSeconds(standing.elite_ns.at(candidate.cell) * 1e-9)));
    }
    return StageOutcome::Pass();
  }
};

class WholeVerification : public OptimizeStage {
 public:
  using OptimizeStage::OptimizeStage;
  std::string name() const override { return "verify"; }

  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>& artifact,
                   const Standing&) override {
    const Result<Verdict> verdict = VerifyWholeFile(
        subject_, workshop_, static_cast<Traced&>(*artifact).file, subject_.verify_seed);
    if (!verdict.ok()) return Failure(candidate, verdict.error());
    return FromVerdict(candidate, *verdict);
  }
};

}  // namespace

std::filesystem::path SourcePath(const OptimizeSubject& subject, const std::string& source) {
  return subject.scratch / (Sha256(source).substr(0, 16) + ".cu");
}

Result<Verdict> VerifyWhole(const OptimizeSubject& subject, Workshop& workshop,
                            const std::string& source, uint64_t seed) {
  const std::filesystem::path file = SourcePath(subject, source);
  KS_RETURN_IF_ERROR(workshop.tools().files.Write(file, source));
  return VerifyWholeFile(subject, workshop, file, seed);
}

std::string CellOf(const PlanEstimate& estimate) {
  const PlanEstimate::Step* longest = nullptr;
  size_t kernels = 0;
  for (const PlanEstimate::Step& step : estimate.steps) {
    if (step.launch) ++kernels;
    if (longest == nullptr || step.seconds > longest->seconds) longest = &step;
  }
  std::string limit = "nothing";
  if (longest != nullptr) {
    limit = !longest->launch || longest->launch->parts.empty() ? longest->name
                                                               : longest->launch->parts[0].name;
  }
  // More than four launches are all alike: too many.
  return fmt::format("{}{} kernel{}, {}", std::min<size_t>(kernels, 4), kernels > 4 ? "+" : "",
                     kernels == 1 ? "" : "s", limit);
}

Cascade MakeCascade(const OptimizeSubject& subject, Workshop& workshop) {
  Cascade cascade;
  cascade.push_back(std::make_unique<CompileCandidate>(subject, workshop));
  cascade.push_back(std::make_unique<QuickCheck>(subject, workshop));
  cascade.push_back(std::make_unique<EstimateTime>(subject, workshop));
  cascade.push_back(std::make_unique<WholeVerification>(subject, workshop));
  return cascade;
}

}  // namespace kernelsmith
