// A toy world for tests: sources are strings of 0 and 1, and the time is the number of zeros (and
// of breaks of a rule).
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "evolve/engine.h"
#include "support/testing/fake_clock.h"

namespace kernelsmith {

inline constexpr size_t kBits = 64;

class RandomBits : public Proposer {
 public:
  std::string name() const override { return "random"; }
  int min_parents() const override { return 0; }
  int max_parents() const override { return 0; }
  Result<Proposal> Propose(const ProposalRequest& request, Rng& rng) override {
    Proposal proposal;
    for (size_t i = 0; i < kBits; ++i) proposal.source += rng.Below(2) == 0 ? '0' : '1';
    return proposal;
  }
};

class MutateBits : public Proposer {
 public:
  std::string name() const override { return "mutate"; }
  int max_parents() const override { return 2; }
  Result<Proposal> Propose(const ProposalRequest& request, Rng& rng) override {
    Proposal proposal;
    proposal.source = request.parents.back()->source;
    if (request.parents.size() == 2) {
      const std::string& other = request.parents.front()->source;
      for (size_t i = 0; i < kBits; ++i) {
        if (rng.Below(2) == 0) proposal.source[i] = other[i];
      }
    }
    for (int flips = 0; flips < 3; ++flips) {
      char& bit = proposal.source[rng.Below(kBits)];
      bit = bit == '0' ? '1' : '0';
    }
    proposal.dollars = 0.5;
    return proposal;
  }
};

// Never has an idea.
class Silent : public Proposer {
 public:
  std::string name() const override { return "silent"; }
  int min_parents() const override { return 0; }
  Result<Proposal> Propose(const ProposalRequest& request, Rng& rng) override {
    return Unsupported("no idea");
  }
};

// Pays for answers that hold nothing.
class Empty : public Proposer {
 public:
  std::string name() const override { return "empty"; }
  int min_parents() const override { return 0; }
  Result<Proposal> Propose(const ProposalRequest& request, Rng& rng) override {
    Proposal proposal;
    proposal.note = "no code";
    proposal.dollars = 0.25;
    return proposal;
  }
};

class CompileBits : public Stage {
 public:
  std::string name() const override { return "compile"; }
  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>&,
                   const Standing&) override {
    if (candidate.source.size() != kBits) return StageOutcome::Reject("rejected", "wrong length");
    // The last two bits are comments.
    candidate.ptx_hash = "ptx " + candidate.source.substr(0, kBits - 2);
    return StageOutcome::Pass();
  }
};

class CountZeros : public Stage {
 public:
  std::string name() const override { return "estimate"; }
  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>&,
                   const Standing& standing) override {
    candidate.time_ns =
        static_cast<double>(std::count(candidate.source.begin(), candidate.source.end(), '0'));
    candidate.time_kind = "estimated";
    candidate.cell = candidate.source.substr(0, 2);
    return StillPasses(candidate, standing);
  }
  StageOutcome StillPasses(const ArchivedCandidate& candidate,
                           const Standing& standing) const override {
    if (!standing.best_ns || *candidate.time_ns <= 1.25 * *standing.best_ns) {
      return StageOutcome::Pass();
    }
    return StageOutcome::Reject("rejected", "slow");
  }
};

class VerifyBits : public Stage {
 public:
  explicit VerifyBits(std::chrono::microseconds slow = std::chrono::microseconds(0))
      : slow_(slow) {}
  std::string name() const override { return "verify"; }
  StageOutcome Run(ArchivedCandidate& candidate, std::unique_ptr<Artifact>&,
                   const Standing&) override {
    // Times differ from candidate to candidate, so that threads overtake each other.
    if (slow_.count() > 0) std::this_thread::sleep_for(slow_ * (*candidate.number * 7 % 5));
    if (candidate.source.starts_with("00")) return StageOutcome::Reject("refuted", "begins badly");
    return StageOutcome::Pass();
  }

 private:
  std::chrono::microseconds slow_;
};

// All that an evolution of bits needs, in a folder of its own.
struct Toy {
  explicit Toy(const std::string& name, std::chrono::microseconds slow = {}) {
    folder = std::filesystem::temp_directory_path() /
             ("evolve_test_" + name + std::to_string(::getpid()));
    std::filesystem::remove_all(folder);
    cascade.push_back(std::make_unique<CompileBits>());
    cascade.push_back(std::make_unique<CountZeros>());
    cascade.push_back(std::make_unique<VerifyBits>(slow));
    Open();
  }
  ~Toy() {
    archive.reset();
    std::filesystem::remove_all(folder);
  }
  void Open() {
    archive.reset();
    archive = *Archive::Open(folder / "archive.db");
  }
  Evolution::Parts Parts(std::vector<Proposer*> proposers) {
    return {std::move(proposers), cascade, *archive, clock};
  }
  Evolution::Parts Parts() { return Parts({&random, &mutate}); }

  std::filesystem::path folder;
  RandomBits random;
  MutateBits mutate;
  Silent silent;
  Cascade cascade;
  FakeClock clock;
  std::unique_ptr<Archive> archive;
};

}  // namespace kernelsmith
