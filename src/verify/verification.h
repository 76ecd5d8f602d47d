// One verification under way: what the stages share. Inside of src/verify only.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "candidate/candidate.h"
#include "graph/graph.h"
#include "verify/inputs.h"
#include "verify/kernel_coverage.h"
#include "verify/oracle.h"
#include "verify/verify.h"

namespace kernelsmith {

// The draw that the host code sees is no secret: it is the same for every candidate.
inline constexpr uint64_t kSeenSeed = 2;

// One configuration of the task, and the candidate's plan for it.
struct TracedShape {
  TaskRequest request;
  TaskGraph task;
  Graph graph;
  // A draw that is no secret: the host code sees it while it is traced, and the structured inputs
  // start from it.
  CaseTensors seen;
  bool seen_is_right = false;  // src/graph gives what PyTorch gave on `seen`
  // It can do so for any values of the arguments: none is computed from others (what a forward
  // pass saved).
  bool evaluated_here = false;
  std::shared_ptr<const TracedCall> call;  // it has a plan
  uint64_t work = 0;                       // work.h
  std::vector<double> usual_rms;           // the RMS of results and mutated arguments on `seen`
  // Arguments whose packed form may stay from an earlier call: weights, by position.
  std::vector<bool> kept;

  const Plan& plan() const { return *call->plan; }
};

// Inputs and what must come out.
struct Case {
  std::string inputs = "task";  // recipe
  bool harsh = false;
  uint64_t seed = 0;
  CaseTensors tensors;
  uint64_t schedule = 0;  // the order in which blocks, warps and atomics take their turns
  MemoryLayout layout;
  bool any_not_finite = false;  // where the task is not finite, which such number comes out is open
};

// A finding and what it makes of the verdict; kVerified: nothing.
struct Objection {
  VerdictKind kind = VerdictKind::kVerified;
  Finding finding;
  bool gross = false;  // a wrong value is further off than rounding could make it
};

struct CaseOutcome {
  std::vector<Objection> objections;
  std::vector<NumbersChecked> numbers;
  WatchedRun run;
};

// What a stage found. It starts as passed and can only get worse.
class StageResult {
 public:
  std::string note;      // what the stage did, for its report
  bool skipped = false;  // the stage did nothing; the note says why
  VerdictKind kind = VerdictKind::kVerified;
  std::vector<Finding> findings;

  static StageResult Skipped(std::string why);

  // A finding has decided; the stages behind this one do not run.
  bool Ended() const { return kind != VerdictKind::kVerified; }
  void Add(VerdictKind verdict, Finding finding);
  void Add(const CandidateProblem& problem);
  void Warn(Finding finding);
  void Note(Finding finding);
};

// Where the seeds of data come from: every use has a stream of its own, so that no two stages draw
// the same numbers unless they name the same stream.
enum class SeedStream : uint64_t {
  kTaskDraws,    // PyTorch's own draws at the first shape
  kShapeDraws,   // the same at the other shapes
  kStructured,   // structured inputs
  kSpikes,       // inputs with one large value in every row
  kChecked,      // the run under the checkers
  kSingle,       // inputs that differ from an earlier call's in a few elements
  kDependence,   // one input changed
  kDeterminism,  // garbage in fresh memory
  kAlgebraSearch,
  kAlgebraRedrawn,
  kAlgebraFields,
  kTimingDraw,
  kTimingBlocks,
  kTimingPoison,
  kLayouts,      // places of tensors
  kDomain,       // numbers that are not finite
  kSequence,     // the order of many calls
  kDrawnShapes,  // sizes and scalars that no task lists
  kDrawnValues,  // data at these
};

class Verification {
 public:
  Verification(const Task& task, Candidate& candidate, const VerifyOptions& options,
               const VerifyTools& tools);

  const Task& task;
  Candidate& candidate;
  const VerifyOptions& options;
  const VerifyTools& tools;
  Verdict verdict;
  std::vector<TaskConfiguration> configurations;  // quick ones first; stage plan fills it
  // The configurations prepared so far, by number; empty slots are not prepared yet.
  std::vector<std::unique_ptr<TracedShape>> shapes;
  // Sizes and scalars that are not in the list, as far as they decide; stage drawn fills it.
  std::vector<std::unique_ptr<TracedShape>> drawn;
  std::vector<const TracedShape*> other_scalars;  // those that differ in scalars alone
  std::vector<const TracedShape*> checked;        // shapes that ran under the checkers
  // What runs at each shape that candidates are timed at; stage timing fills it.
  struct Timed {
    TaskRequest request;
    KernelCoverage coverage;
  };
  std::vector<Timed> timed;

  const CompiledCandidate& compiled() const { return candidate.compiled(); }
  bool Ended() const { return verdict.kind != VerdictKind::kVerified; }
  // Puts what a stage found into the verdict, which starts as verified and can only get worse.
  void Take(const std::string& stage, StageResult outcome);

  // Exports, draws and traces the configuration. What keeps the candidate from being judged there
  // is added to `stage`. Null: there is no plan.
  Result<TracedShape*> Prepare(size_t configuration, StageResult& stage);
  // The same for a configuration that is not in the list (smaller, larger).
  Result<std::unique_ptr<TracedShape>> PrepareRequest(TaskRequest request, StageResult& stage);

  // A draw of the task by PyTorch, or of a recipe. Nothing: PyTorch has no finite answer there.
  Result<std::optional<Case>> MakeCase(const TracedShape& traced, const std::string& inputs,
                                       uint64_t seed);
  // A draw by which numbers are judged at a configuration that is prepared; the first one has
  // several.
  Result<std::optional<Case>> DrawnCase(size_t configuration, uint64_t draw = 0);
  // With these values for the placeholders.
  Result<std::optional<Case>> MakeCaseOf(const TracedShape& traced, TensorMap values,
                                         const std::string& inputs, uint64_t seed);

  // Runs the plan on the case and compares all that came out. Safe to call from several threads.
  Result<CaseOutcome> Judge(const TracedShape& traced, const Case& sample,
                            const Watch& watch = {}) const;
  Result<CaseOutcome> JudgePlan(const TracedShape& traced, const Plan& plan, const Case& sample,
                                const CaseTensors* earlier = nullptr,
                                const Watch& watch = {}) const;

  uint64_t Secret(SeedStream stream, uint64_t index = 0) const;  // seeds of data
  // The same for data that PyTorch has to be asked about; see VerifyOptions::seed.
  uint64_t DrawSecret(SeedStream stream, uint64_t index = 0) const;
  // Whichever of the two MakeCase needs for these inputs.
  uint64_t CaseSecret(const TracedShape& traced, const std::string& inputs, SeedStream stream,
                      uint64_t index = 0) const;
  // What the kernels may compare their values with: the immediate operands of the device code.
  const std::vector<double>& KernelNumbers();
  double AllowedEpsilon() const;  // what --precision allows; 0: the dtype's own
  std::vector<InputTensor> Inputs(const TracedShape& traced) const;

 private:
  std::optional<std::vector<double>> kernel_numbers_;
};

// The mangled names of all kernels that it launches.
std::set<std::string> KernelsOf(const Plan& plan);
// Those that are not among `judged`, as people write them.
std::vector<std::string> NewKernels(const Plan& plan, const std::set<std::string>& judged);
// What went wrong and in which thread; the line is the finding's own.
std::string FaultText(const vgpu::Fault& fault);
std::vector<int64_t> IndexOf(size_t flat, const Shape& shape);

}  // namespace kernelsmith
