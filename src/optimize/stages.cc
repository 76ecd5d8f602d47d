#include "optimize/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compile/device_names.h"
#include "evolve/ptx_identity.h"
#include "plan/plan_text.h"
#include "support/hash.h"
#include "verify/quick_verify.h"
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
  std::shared_ptr<Candidate> candidate;
  MeasuredPlan timed;
};

json FindingJson(FindingKind kind, const std::string& message, const SourceLocation& where) {
  json finding = {{"kind", Name(kind)}, {"message", message}};
  if (where.line > 0) finding["line"] = where.line;
  return finding;
}

// What a stage could not do, which says nothing about the candidate: a missing tool or a PyTorch
// that does not answer ends the run, which can go on. What is more than we can do is the
// candidate's bad luck.
StageOutcome Failure(ArchivedCandidate& candidate, const Error& error) {
  const ErrorKind kind = error.kind();
  if (kind != ErrorKind::kUnsupported && kind != ErrorKind::kInvalidInput) {
    return StageOutcome::Broken(error);
  }
  const bool unsupported = kind == ErrorKind::kUnsupported;
  for (const Diagnostic& each : error.diagnostics()) {
    candidate.findings.push_back(FindingJson(
        unsupported ? FindingKind::kUnsupported : FindingKind::kError, each.message, each.where));
  }
  return StageOutcome::Reject(unsupported ? "unsupported" : "inconclusive", error.message());
}

StageOutcome Rejected(ArchivedCandidate& candidate, const std::vector<CandidateProblem>& problems) {
  for (const CandidateProblem& each : problems) {
    candidate.findings.push_back(FindingJson(each.kind, each.message, each.where));
  }
  const CandidateProblem& first = problems.front();
  return StageOutcome::Reject(Name(first.verdict),
                              fmt::format("{}: {}", Name(first.kind), first.message));
}

// Findings of a verdict that is not `verified`.
StageOutcome FromVerdict(ArchivedCandidate& candidate, const Verdict& verdict) {
  candidate.findings = ToJson(verdict)["findings"];
  if (verdict.kind == VerdictKind::kVerified) return StageOutcome::Pass();
  const Finding* deciding = verdict.Deciding();
  return StageOutcome::Reject(Name(verdict.kind),
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
  OptimizeStage(const OptimizeTarget& target, JudgePool& pool) : target_(target), pool_(pool) {}

 protected:
  const OptimizeTarget& target_;
  JudgePool& pool_;
};

class CompileCandidate : public OptimizeStage {
 public:
  using OptimizeStage::OptimizeStage;
  std::string name() const override { return "compile"; }

  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>& artifact,
                   const Standing&) override {
    auto traced = std::make_unique<Traced>();
    const std::filesystem::path file = SourcePath(target_, candidate.source);
    FileSystem& files = pool_.tools().files;
    if (!files.Exists(file)) {
      if (Status written = files.Write(file, candidate.source); !written.ok()) {
        return Failure(candidate, written.error());
      }
    }
    traced->candidate = pool_.Open(file);
    const auto problems = traced->candidate->Compile();
    if (!problems.ok()) return Failure(candidate, problems.error());
    if (!problems->empty()) return Rejected(candidate, *problems);
    const CompiledCandidate& compiled = traced->candidate->compiled();
    // Two shapes: the same kernels may be launched alike at one and not at the other.
    std::string host;
    for (const auto& call : {target_.quick, target_.timed}) {
      if (call == nullptr) continue;
      auto outcome = traced->candidate->Trace(call->call);
      if (!outcome.ok()) return Failure(candidate, outcome.error());
      if (!(*outcome)->plan) return Rejected(candidate, (*outcome)->problems);
      traced->timed = {traced->candidate, call, *std::move(outcome)};
      host += PlanWithoutNames(traced->timed.plan(), compiled.ptx);
    }
    candidate.ptx_hash = CandidateIdentity(compiled.ptx, host);
    artifact = std::move(traced);
    return StageOutcome::Pass();
  }
};

VerifyOptions OptionsOf(const OptimizeTarget& target, uint64_t seed) {
  VerifyOptions options;
  options.direction = target.request.direction;
  options.dtype = target.request.dtype;
  options.seed = seed;
  options.policy.allow = target.request.allow;
  return options;
}

using Verifier = Result<Verdict>(const VerifyOptions& options, const VerifyTools& tools);

Result<Verdict> OnADevice(const OptimizeTarget& target, JudgePool& pool, uint64_t seed,
                          const std::function<Verifier>& verify) {
  KS_TRY(const JudgePool::DeviceLease device, pool.TakeDevice());
  SilentProgress progress;
  const OptimizeTools& tools = pool.tools();
  return verify(OptionsOf(target, seed), {.tasks = tools.tasks,
                                          .device = *device,
                                          .files = tools.files,
                                          .clock = tools.clock,
                                          .progress = progress});
}

Result<Verdict> VerifyWhole(const OptimizeTarget& target, JudgePool& pool, Candidate& candidate,
                            uint64_t seed) {
  return OnADevice(target, pool, seed, [&](const auto& options, const auto& tools) {
    return Verify(target.task, candidate, options, tools);
  });
}

// What most wrong candidates fail at, before anybody spends time on their speed.
class QuickCheck : public OptimizeStage {
 public:
  using OptimizeStage::OptimizeStage;
  std::string name() const override { return "quick"; }

  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>& artifact,
                   const Standing&) override {
    Candidate& judged = *static_cast<Traced&>(*artifact).candidate;
    const Result<Verdict> verdict =
        OnADevice(target_, pool_, target_.verify_seed, [&](const auto& options, const auto& tools) {
          return QuickVerify(target_.task, judged, options, tools);
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
    Result<JudgePool::DeviceLease> device = pool_.TakeDevice();
    if (!device.ok()) return Failure(candidate, device.error());
    const OptimizeTools& tools = pool_.tools();
    const Result<PlanProfile> profile =
        ProfilePlan(static_cast<Traced&>(*artifact).timed, **device, tools.tools, tools.processes,
                    {.gpu = target_.request.gpu,
                     .max_blocks = target_.request.blocks,
                     .seed = target_.request.seed});
    if (!profile.ok()) return Failure(candidate, profile.error());
    if (!profile->failure.empty()) {
      candidate.findings.push_back(FindingJson(profile->failure_kind, profile->failure, {}));
      return StageOutcome::Reject(
          "refuted",
          fmt::format("fault at {}: {}", target_.timed->configuration.name, profile->failure));
    }
    for (const StepProfile& step : profile->steps) {
      // The virtual GPU has no registers to run out of.
      if (step.kind != StepProfile::Kind::kLaunch || step.counters.resident_blocks > 0) continue;
      const std::string why = fmt::format(
          "kernel {} can't be launched on {}: a block of {} threads with {} registers each and {} "
          "bytes of shared memory does not fit on an SM",
          step.name, target_.request.gpu->key, step.counters.block.Count(), step.counters.registers,
          step.counters.shared_bytes);
      candidate.findings.push_back(FindingJson(FindingKind::kLaunchError, why, {}));
      return StageOutcome::Reject("refuted", "launch_error: " + why);
    }
    const PlanEstimate estimate = EstimatePlan(*profile, target_.floor, *target_.request.gpu);
    candidate.time_ns = estimate.seconds * 1e9;
    candidate.time_kind = "estimated";
    candidate.gpu = target_.request.gpu->key;
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
    const std::shared_ptr<Candidate>& judged = static_cast<Traced&>(*artifact).candidate;
    const Result<Verdict> verdict = VerifyWhole(target_, pool_, *judged, target_.verify_seed);
    if (!verdict.ok()) return Failure(candidate, verdict.error());
    if (verdict->kind == VerdictKind::kVerified) pool_.Keep(judged);
    return FromVerdict(candidate, *verdict);
  }
};

}  // namespace

std::filesystem::path SourcePath(const OptimizeTarget& target, const std::string& source) {
  return target.scratch / (Sha256(source).substr(0, 16) + ".cu");
}

Result<Verdict> VerifyWhole(const OptimizeTarget& target, JudgePool& pool,
                            const std::string& source, uint64_t seed) {
  const std::filesystem::path file = SourcePath(target, source);
  KS_RETURN_IF_ERROR(pool.tools().files.Write(file, source));
  return VerifyWhole(target, pool, *pool.Open(file), seed);
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

Cascade MakeCascade(const OptimizeTarget& target, JudgePool& pool) {
  Cascade cascade;
  cascade.push_back(std::make_unique<CompileCandidate>(target, pool));
  cascade.push_back(std::make_unique<QuickCheck>(target, pool));
  cascade.push_back(std::make_unique<EstimateTime>(target, pool));
  cascade.push_back(std::make_unique<WholeVerification>(target, pool));
  return cascade;
}

}  // namespace kernelsmith
