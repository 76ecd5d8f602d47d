// The built-in proposers: candidates by the tensor compiler of src/codegen, whose every choice is a
// gene. One draws schedules at random, one changes and crosses those of parents.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "evolve/proposer.h"
#include "propose/gene_model.h"

namespace kernelsmith {

// The schedules of one task. Choices depend on each other: fusing two kernels removes the genes of
// one. Both functions may be called from several threads at once.
struct ScheduleSpace {
  std::function<std::vector<codegen::Gene>(const codegen::Schedule&)> genes;
  std::function<Result<std::string>(const codegen::Schedule&)> emit;
};
// The schedules of a model, which must outlive the space.
ScheduleSpace SpaceOf(const codegen::Model& model);

// The schedule with a value for every gene that it has, and for no other.
codegen::Schedule Complete(const ScheduleSpace& space, codegen::Schedule schedule);

// What a candidate was made by: all genes, or those of the first translation if it names none.
codegen::Schedule ScheduleOf(const ScheduleSpace& space, const ArchivedCandidate& candidate);

// "threads 256 -> 128, items 1 -> 4": what differs, in the order of names.
std::string Difference(const codegen::Schedule& before, const codegen::Schedule& after);

// Draws every gene uniformly, without parents. If guided, it proposes of several such schedules the
// most promising by the times known so far, as soon as there are some.
class RandomScheduleProposer : public Proposer {
 public:
  static constexpr char kName[] = "random";
  explicit RandomScheduleProposer(ScheduleSpace space, bool guided = false)
      : space_(std::move(space)), guided_(guided) {}
  std::string name() const override { return kName; }
  int min_parents() const override { return 0; }
  int max_parents() const override { return 0; }
  Result<Proposal> Propose(const ProposalRequest& request, Rng& rng) override;

 private:
  ScheduleSpace space_;
  bool guided_ = false;
};

// Changes one or a few genes of the parent, rather to a neighbouring value than to any, and rather
// those of kernels that take long. Of two parents each kernel's genes come from one of them. Of
// several such children the one is taken that is the most promising by the times known so far.
class MutateScheduleProposer : public Proposer {
 public:
  static constexpr char kName[] = "mutate";
  explicit MutateScheduleProposer(ScheduleSpace space) : space_(std::move(space)) {}
  std::string name() const override { return kName; }
  int max_parents() const override { return 2; }
  Result<Proposal> Propose(const ProposalRequest& request, Rng& rng) override;

 private:
  ScheduleSpace space_;
};

}  // namespace kernelsmith
