// An optimisation: from a task to the fastest verified CUDA that was found for it.
//
//   KS_TRY(auto optimization, Optimization::Make(task, options, tools));
//   KS_TRY(OptimizeResult result, optimization->Run(watch));
//
// Everything is kept in OUTPUT/archive.db as it comes, so that a run that was killed goes on where
// it was.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "evolve/engine.h"
#include "optimize/explain.h"
#include "optimize/stages.h"
#include "optimize/target.h"
#include "report/optimize_page.h"
#include "verify/verdict.h"

namespace kernelsmith {

struct OptimizeOptions {
  OptimizeRequest request;
  std::string search = "evolution";  // or random: the same budget without memory, to compare with
  EvolutionBudget budget;
  int jobs = 2;
  std::filesystem::path output;  // folder
  // Where sources are compiled, by content: runs that have it in common compile the same source
  // once. Empty: in the output.
  std::filesystem::path scratch;
  std::vector<std::string> start;           // sources to begin with, beside the first translation
  const std::atomic<bool>* stop = nullptr;  // set: ends with what there is
};

struct OptimizeResult {
  EvolutionReport report;
  ArchivedCandidate first;  // the version that all others are compared with
  ArchivedCandidate best;
  std::vector<ArchivedCandidate> candidates;  // all, by number
  std::vector<ArchivedCandidate> lineage;     // the best one's ancestors and itself, oldest first
  Explanation why;                            // the best beside the first
  std::string changes;  // changes of genes from the first to the best; may be empty
  // The best again, on data that no candidate was chosen by; none if the run was interrupted.
  std::optional<Verdict> confirmed;
  // What this session compiled and traced. Each call of a candidate is traced once; stages that
  // need it again are answered from memory.
  struct Work {
    int candidates = 0;  // that were compiled
    int traced = 0;      // calls whose host code ran
    int repeated = 0;    // calls that were asked for again
    double traced_seconds = 0;
    double spared_seconds = 0;  // what tracing the repeated ones again would have taken
  } work;
  // Candidates that were faster but did not stand this test, with why.
  std::vector<std::string> withdrawn;

  double first_seconds() const { return first.time_ns.value_or(0) * 1e-9; }
  double best_seconds() const { return best.time_ns.value_or(0) * 1e-9; }
};

class Optimization {
 public:
  // Stages that others bring: they stand behind the compiler.
  using Filters = std::vector<std::unique_ptr<Stage>>;

  // A new run. An error if OUTPUT has one already. `more` proposers join the built-in ones; they
  // outlive the optimisation. `unsupported` if the task can't be translated and there is nothing
  // else to start with.
  static Result<std::unique_ptr<Optimization>> Make(const Task& task,
                                                    const OptimizeOptions& options,
                                                    const OptimizeTools& tools,
                                                    std::vector<Proposer*> more = {},
                                                    Filters filters = {});
  // Goes on with the run in OUTPUT: all but budget and jobs must be as it was.
  static Result<std::unique_ptr<Optimization>> Resume(const Task& task,
                                                      const OptimizeOptions& options,
                                                      const OptimizeTools& tools,
                                                      std::vector<Proposer*> more = {},
                                                      Filters filters = {});
  // An error if nothing was verified: it has the first candidate's reason.
  Result<OptimizeResult> Run(const std::function<void(const ArchivedCandidate&)>& watch);

  const OptimizeTarget& target() const { return target_; }
  // The built-in compiler's; null if it can't translate the task.
  const codegen::Model* model() const { return model_ ? &*model_ : nullptr; }
  // Candidates of earlier sessions of this run, by number.
  const std::vector<ArchivedCandidate>& earlier() const { return earlier_; }

 private:
  explicit Optimization(const OptimizeTools& tools) : tools_(tools), pool_(tools) {}
  static Result<std::unique_ptr<Optimization>> Prepare(const Task& task,
                                                       const OptimizeOptions& options,
                                                       const OptimizeTools& tools,
                                                       std::vector<Proposer*> more,
                                                       Filters filters);
  Evolution::Parts Parts() const {
    return {proposers_, cascade_, *archive_, tools_.clock, options_.stop};
  }
  Result<OptimizeResult> Conclude(EvolutionReport report);

  OptimizeTools tools_;
  OptimizeOptions options_;
  OptimizeTarget target_;
  JudgePool pool_;
  std::optional<codegen::Model> model_;
  std::string untranslated_;  // why there is no model
  std::vector<std::unique_ptr<Proposer>> own_;
  std::vector<Proposer*> proposers_;
  Cascade cascade_;
  std::unique_ptr<Archive> archive_;
  std::unique_ptr<Evolution> evolution_;
  std::vector<ArchivedCandidate> earlier_;
};

// What the run in `output` was started with (all but budget and jobs), so that nobody has to say it
// again. An error if there is none.
Result<OptimizeOptions> StoredOptions(const std::filesystem::path& output);

nlohmann::json ToJson(const OptimizeResult& result, const OptimizeTarget& target);
OptimizePage PageOf(const OptimizeResult& result, const OptimizeTarget& target);

}  // namespace kernelsmith
