// Proves what a kernel's global accesses do at all sizes, of which only some were ever run: that
// they are in bounds, and that every element of a result is written exactly once. It speaks of
// addresses, never of values, and of nothing that it can't prove.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "support/result.h"

namespace kernelsmith::sizes {

struct SizesProof {
  std::string kernel;                    // its name in the PTX
  size_t number = 0;                     // which of its launches in the plan
  size_t launches = 0;                   // that were traced, with different sizes
  bool in_bounds = false;                // every access to global memory, which is aligned as well
  bool shared_in_bounds = false;         // every access to shared memory, if in_bounds
  std::string why_not;                   // of the first access that was not proved
  int64_t most = 0;                      // elements of a buffer to which it holds
  std::string domain;                    // "rows, columns >= 1"
  std::vector<std::string> assumptions;  // about the host code; they hold in every traced launch
  std::vector<std::string> covered;      // results of which every element is written exactly once
  std::vector<std::string> not_covered;  // "y: why not"
};

struct SizesQuestion {
  std::string ptx;
  std::string name;                // of the PTX, for messages
  std::vector<const Plan*> plans;  // of the candidate's calls at different sizes
  // By kernel: its parameters' names in the source, for people.
  std::map<std::string, std::vector<std::string>> parameter_names;
};

// One proof for each launch of a kernel in the plans. An error: the PTX can't be read.
Result<std::vector<SizesProof>> ProveAllSizes(const SizesQuestion& question);

}  // namespace kernelsmith::sizes
