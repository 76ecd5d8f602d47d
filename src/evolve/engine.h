// The evolution: proposals from parents, the cascade, the population, again and again, with the
// archive as its memory.
//
// The course is a function of the settings and of what proposers and stages answer: the candidates
// of a generation are proposed from the state at its beginning, each with a generator of its own,
// and change the state in the order of their numbers when all of them are done. So neither the
// number of threads nor an interruption changes it, and what is in the archive is enough to go on
// after kill -9: finished generations are applied again, and of an unfinished one only what is
// missing is done.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "evolve/bandit.h"
#include "evolve/population.h"
#include "evolve/proposer.h"
#include "evolve/settings.h"
#include "evolve/stage.h"
#include "support/clock.h"

namespace kernelsmith {

struct ProposerRecord {
  std::string name;
  int asked = 0;
  int verified = 0;
  double reward = 0;  // the mean over finished generations
};

struct EvolutionReport {
  int64_t run = 0;
  std::optional<ArchivedCandidate> best;
  std::string ended_by;  // candidates, seconds, dollars, stopped; no parents: nothing verified to
                         // go on from
  int64_t candidates = 0;
  double seconds = 0;  // the time of all sessions
  double dollars = 0;
  std::map<std::string, int> verdicts;
  std::vector<ProposerRecord> proposers;
  std::string fingerprint;  // a hash of all that was decided: equal for equal courses
};

class Evolution {
 public:
  static constexpr char kInitial[] = "initial";  // the proposer of sources that the caller gave
  // Outlive the evolution. Proposers have different names; the cascade is not empty.
  struct Parts {
    std::vector<Proposer*> proposers;
    const Cascade& cascade;
    Archive& archive;
    const Clock& clock;
    // Set (by a signal handler, say): as if Stop() was called. Null: never.
    const std::atomic<bool>* stop = nullptr;
  };
  // What the run is about.
  struct EvolvedTask {
    std::string task;
    std::string direction;
    std::string dtype;
    // Whatever else a resumed run must have the same (the GPU, the shape): kept with the run for
    // the caller, who compares it.
    nlohmann::json context = nlohmann::json::object();
  };

  // A new run in the archive. `initial`: sources that every island begins with, such as the first
  // translation.
  static Result<std::unique_ptr<Evolution>> Start(const Parts& parts, const EvolvedTask& evolved,
                                                  const EvolutionSettings& settings,
                                                  const EvolutionBudget& budget,
                                                  const std::vector<std::string>& initial);
  // Goes on with a run, with its own settings. The proposers must be the same; the budget may be
  // another.
  static Result<std::unique_ptr<Evolution>> Resume(const Parts& parts, int64_t run,
                                                   const EvolutionBudget& budget);

  // Until the budget is used up or Stop() was called. `watch` hears of each candidate after it was
  // committed, one at a time.
  Result<EvolutionReport> Run(int jobs,
                              const std::function<void(const ArchivedCandidate&)>& watch = {});
  // From any thread: what is being evaluated is finished and kept, nothing new
  // begins.
  void Stop() { stop_ = true; }
  int64_t run() const { return run_.id; }

 private:
  struct Slot;  // one candidate of a generation on its way

  Evolution(const Parts& parts, ArchivedRun run, EvolutionSettings settings, EvolutionBudget budget,
            std::vector<std::string> initial);
  Result<bool> RunGeneration(int jobs);
  Result<std::vector<Slot>> PlanGeneration();
  void Begin(Slot& slot);
  void MarkKnown(std::vector<Slot>& slots);
  void Examine(Slot& slot);
  void Decide(std::vector<Slot>& slots, int jobs);
  void Finish(Slot& slot);
  void Commit(Slot& slot);
  void Break(const Error& error);
  void ApplyGeneration(const std::vector<Slot>& slots);
  bool Stopped() const { return stop_ || (parts_.stop != nullptr && *parts_.stop); }
  std::string WhyStop();
  double Seconds() const;
  EvolutionReport Report() const;
  std::string Fingerprint() const;

  Parts parts_;
  ArchivedRun run_;
  EvolutionSettings settings_;
  EvolutionBudget budget_;
  std::vector<std::string> initial_;
  std::function<void(const ArchivedCandidate&)> watch_;
  Clock::Duration began_;
  std::atomic<bool> stop_ = false;

  // The state: what finished generations made.
  int64_t next_ = 0;  // number of the first candidate of the next generation
  int64_t generation_ = 0;
  Population population_;
  Bandit bandit_;
  std::map<std::string, int64_t> seen_;          // normalised PTX, and the first candidate with it
  std::set<std::string> sources_;                // their SHA-256
  std::vector<const ArchivedCandidate*> timed_;  // those that have a time
  std::vector<std::vector<const ArchivedCandidate*>> failures_;  // by proposer, oldest first

  // Guards what follows and the archive, while threads are at work.
  std::mutex mutex_;
  std::map<int64_t, ArchivedCandidate> done_;  // all that is committed, by number
  double dollars_ = 0;
  std::optional<Error> error_;
  std::string ended_by_;
};

}  // namespace kernelsmith
