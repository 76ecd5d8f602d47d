// Wrong variants of kernels and launches, and what becomes of them at the sizes that were traced.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "support/result.h"

namespace kernelsmith {

struct SizesCase {
  std::string ptx;
  std::vector<Plan> plans;
};

struct SizesMutant {
  std::string what;
  SizesCase changed;
};

// One change each: of a comparison, a constant, an offset, a shift, an id, a parameter or a guard
// in the PTX; of the grid, or of a number that a kernel gets, in all plans.
void ForEachMutant(const SizesCase& right,
                   const std::function<void(const SizesMutant& mutant)>& visit);

// What the launches did wrong at the sizes of the plans when they ran: an access out of bounds (of
// shared memory only if asked for), or with `written_once` an element of a result that was not
// written exactly once. Empty: nothing.
Result<std::string> WhatGoesWrong(const SizesCase& tried, const std::string& kernel, size_t launch,
                                  bool written_once, bool shared);

}  // namespace kernelsmith
