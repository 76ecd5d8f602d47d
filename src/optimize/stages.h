// The cascade of an optimisation, from cheap to dear. What a stage rejects goes into the archive
// with its reason and findings.
//
//   compile   nvcc, the host code's plans at the timed and at the quick shape; what it is known by
//   quick     the quick shape under the checkers, and its numbers
//   estimate  counters at the timed shape, the model's time
//   verify    everything, for those alone that would be the fastest of their kind
#pragma once

#include <memory>

#include "evolve/stage.h"
#include "optimize/subject.h"
#include "verify/verdict.h"

namespace kernelsmith {

// `subject` and `workshop` outlive the cascade.
Cascade MakeCascade(const OptimizeSubject& subject, Workshop& workshop);

// Where a source is kept while it is judged: the same text has the same path, so that compiling it
// a second time costs nothing.
std::filesystem::path SourcePath(const OptimizeSubject& subject, const std::string& source);

// The whole verification, with data from `seed`.
Result<Verdict> VerifyWhole(const OptimizeSubject& subject, Workshop& workshop,
                            const std::string& source, uint64_t seed);

// The kind of a candidate in the archive of elites: how many kernels it launches, and what limits
// the longest. "2 kernels, DRAM".
std::string CellOf(const PlanEstimate& estimate);

}  // namespace kernelsmith
