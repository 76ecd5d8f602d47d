// One verification under way: what the stages share. Inside of src/verify only.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "verify/inputs.h"
#include "verify/oracle.h"
#include "verify/verify.h"

namespace kernelsmith {

// Of the draw that the host code sees: `seen` of every subject. Secret ones are never this.
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
  Plan plan;
  std::string failed_launch;      // the error of a launch that is missing in the plan; empty: none
  uint64_t work = 0;              // work.h
  std::vector<double> usual_rms;  // of the results and mutated arguments, on `seen`
  // Arguments whose packed form may stay from an earlier call: weights, by position.
  std::vector<bool> kept;
};

// Inputs and what must come out.
struct Case {
  std::string inputs = "task";  // recipe
  bool harsh = false;
  uint64_t seed = 0;
  CaseTensors tensors;
  uint64_t schedule = 0;  // the order in which blocks, warps and atomics take their turns
};

// A finding and what it makes of the verdict; kVerified: nothing.
struct Objection {
  VerdictKind kind = VerdictKind::kVerified;
  Finding finding;
  bool gross = false;  // of a wrong value: more than rounding could make
};

// Who looks on while a plan runs.
struct Watchers {
  vgpu::Observer* observer = nullptr;
  StepObserver* steps = nullptr;
  bool preparation = false;  // they see the preparation as well
};

struct CaseOutcome {
  std::vector<Objection> objections;
  std::vector<NumbersChecked> numbers;
  RunOutcome run;
};

class Verification {
 public:
  Verification(const Task& task, const std::filesystem::path& candidate,
               const VerifyOptions& options, const VerifyTools& tools);

  const Task& task;
  const std::filesystem::path& candidate;
  const VerifyOptions& options;
  const VerifyTools& tools;
  Verdict verdict;
  CompiledCandidate compiled;
  std::vector<TaskConfiguration> configurations;  // quick ones first; stage plan fills it
  // The configurations prepared so far, by number; empty slots are not prepared yet.
  std::vector<std::unique_ptr<TracedShape>> subjects;
  std::string stage;     // that runs
  std::string note;      // what the stage did, for its report
  bool skipped = false;  // the stage did nothing; the note says why

  // The verdict starts as verified and can only get worse.
  bool Ended() const { return verdict.kind != VerdictKind::kVerified; }
  void Add(VerdictKind kind, Finding finding);
  void Warn(Finding finding) { Tell(std::move(finding), Weight::kWarning); }
  void Note(Finding finding) { Tell(std::move(finding), Weight::kNote); }

  // Exports, draws and traces the configuration; adds what the tracer finds. Null: no plan, and the
  // verdict says why.
  Result<TracedShape*> Prepare(size_t configuration);
  // The same for a configuration that is not in the list (smaller, larger).
  Result<std::unique_ptr<TracedShape>> PrepareRequest(TaskRequest request);

  // A draw of the task by PyTorch, or of a recipe. Nothing: PyTorch has no finite answer there.
  Result<std::optional<Case>> MakeCase(const TracedShape& subject, const std::string& inputs,
                                       uint64_t seed);
  // With these values for the placeholders.
  Result<std::optional<Case>> MakeCaseOf(const TracedShape& subject, TensorMap values,
                                         const std::string& inputs, uint64_t seed);

  // Runs the plan on the case and compares all that came out. Safe to call from several threads.
  Result<CaseOutcome> Judge(const TracedShape& subject, const Case& sample,
                            const Watchers& watchers = {}) const;
  Result<CaseOutcome> JudgePlan(const TracedShape& subject, const Plan& plan, const Case& sample,
                                const CaseTensors* earlier = nullptr,
                                const Watchers& watchers = {}) const;

  uint64_t Secret(uint64_t stream) const;  // seeds of data
  // The same for data that PyTorch has to be asked about; see VerifyOptions::seed.
  uint64_t DrawSecret(uint64_t stream) const;
  // Whichever of the two MakeCase needs for these inputs.
  uint64_t CaseSecret(const TracedShape& subject, const std::string& inputs, uint64_t stream) const;
  double AllowedEpsilon() const;  // by --precision; 0: the dtype's own
  std::vector<InputTensor> Inputs(const TracedShape& subject) const;

 private:
  void Tell(Finding finding, Weight weight);
};

// The mangled names of all kernels that it launches.
std::set<std::string> KernelsOf(const Plan& plan);
// Those that are not among `judged`, as people write them.
std::vector<std::string> NewKernels(const Plan& plan, const std::set<std::string>& judged);
// What went wrong and in which thread; the line is the finding's own.
std::string FaultText(const vgpu::Fault& fault);
std::vector<int64_t> IndexOf(size_t flat, const Shape& shape);

}  // namespace kernelsmith
