// The cascade of an optimisation, from cheap to expensive. What a stage rejects goes into the
// archive with its reason and findings.
//
//   compile   nvcc, the host code's plans at the timed and at the quick shape; what it is known by
//   quick     the quick shape under the checkers, and its numbers
//   estimate  counters at the timed shape, the model's time
//   verify    everything, for those alone that would be the fastest of their kind
#pragma once

#include <memory>

#include "evolve/stage.h"
#include "optimize/target.h"
#include "verify/verdict.h"

namespace kernelsmith {

// `target` and `pool` outlive the cascade.
Cascade MakeCascade(const OptimizeTarget& target, JudgePool& pool);

// Where a source is kept while it is judged: the same text has the same path, so that compiling it
// a second time costs nothing.
std::filesystem::path SourcePath(const OptimizeTarget& target, const std::string& source);

// The whole verification, with data from `seed`.
Result<Verdict> VerifyWhole(const OptimizeTarget& target, JudgePool& pool,
                            const std::string& source, uint64_t seed);

// The kind of a candidate in the archive of elites: how many kernels it launches, and what limits
// the longest. "2 kernels, DRAM".
std::string CellOf(const PlanEstimate& estimate);

}  // namespace kernelsmith
