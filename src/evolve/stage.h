// The cascade that a candidate goes through, from cheap to expensive: compile, quick check,
// estimate, full verification.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "support/result.h"

namespace kernelsmith {

// What an earlier stage made and a later one needs: the module, the plan.
struct Artifact {
  virtual ~Artifact() = default;
};

// How the run stood when this generation began, for the last stage with what it has said of earlier
// candidates of the generation: stages may give up early on what can't compete.
struct Standing {
  std::optional<double> best_ns;  // the best time of all islands
  // The worst time that the candidate's island keeps, if it has no free place.
  std::optional<double> worst_kept_ns;
  std::map<std::string, double> elite_ns;  // of the island's elites, by cell

  // Whether a candidate would be the fastest of its cell there: one that is not need not be
  // verified at a price.
  bool WouldBeElite(const std::string& cell, double time_ns) const {
    const auto elite = elite_ns.find(cell);
    return elite == elite_ns.end() || time_ns < elite->second;
  }
};

struct StageOutcome {
  bool passed = true;
  std::string verdict =
      {};  // the verdict on one that did not pass: rejected, refuted, inconclusive, unsupported
  std::string reason = {};  // the reason in one line
  // The stage could not do its work, which says nothing about the candidate: the run ends with this
  // error, and when it goes on the candidate is judged again.
  std::optional<Error> error = {};

  static StageOutcome Pass() { return {}; }
  static StageOutcome Reject(std::string verdict, std::string reason) {
    return {false, std::move(verdict), std::move(reason)};
  }
  static StageOutcome Broken(Error error) { return {.passed = false, .error = std::move(error)}; }
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::string name() const = 0;
  // Fills what it learns into the candidate. The first stage must set `ptx_hash`
  // (CandidateIdentity() of ptx_identity.h), by which the engine knows what it has seen; all
  // together must set the time, its kind and, for the archive of elites, the cell. Called from
  // several threads at once, never for the same candidate.
  virtual StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>& artifact,
                           const Standing& standing) = 0;
  // Whether one that this stage let pass still competes, now that the last stage has judged others
  // of its generation.
  virtual StageOutcome StillPasses(const ArchivedCandidate& candidate,
                                   const Standing& standing) const {
    return StageOutcome::Pass();
  }
};

using Cascade = std::vector<std::unique_ptr<Stage>>;

}  // namespace kernelsmith
