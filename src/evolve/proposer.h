// What makes candidates: the built-in compiler, a model, a mutation. Implementations live in
// src/propose.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>

#include "archive/archive.h"
#include "support/result.h"
#include "support/rng.h"

namespace kernelsmith {

struct ProposalRequest {
  // Verified candidates with all that is known about them, slowest first. Two or more: a crossover
  // is asked for. Empty: a start.
  std::span<const ArchivedCandidate* const> parents;
  // The newest candidates of this proposer that came to nothing, oldest first: their findings say
  // what not to do again.
  std::span<const ArchivedCandidate* const> failures;
  // SHA-256 of the sources that finished generations had: proposing one of them again is in vain.
  // Null: not known.
  const std::set<std::string>* known_sources = nullptr;
  // All candidates of finished generations that have a time, verified or not, oldest first.
  std::span<const ArchivedCandidate* const> timed;
};

struct Proposal {
  // Empty: it came to nothing, and the note says why. Other than after an error, what it cost is
  // booked.
  std::string source;
  std::string note;  // what was tried, in words
  nlohmann::json genes = nlohmann::json::object();
  std::string prompt;  // what a model was asked; its answer and cost follow
  std::string answer;
  int64_t tokens_in = 0;
  int64_t tokens_out = 0;
  double dollars = 0;
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  // Stable: the archive and resumed runs know it by this.
  virtual std::string name() const = 0;
  // How many parents it can do with: at least min, at most max.
  virtual int min_parents() const { return 1; }
  virtual int max_parents() const { return 1; }
  // All randomness comes from `rng`: the same request and generator give the same proposal (a model
  // may not keep this, which is why a resumed run never asks again for what it has). An error is
  // kept as a candidate that came to nothing. Called from several threads at once.
  virtual Result<Proposal> Propose(const ProposalRequest& request, Rng& rng) = 0;
};

}  // namespace kernelsmith
