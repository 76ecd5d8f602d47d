// Two traces of the same candidate, with other data and other addresses, become one plan: bytes
// that differ are pointers, or the plan depends on data.
#pragma once

#include <optional>
#include <string>

#include "plan/plan.h"
#include "plan/raw_trace.h"

namespace kernelsmith {

// Why two traces have no common plan.
struct MergeProblem {
  enum class Kind {
    kDataDependent,  // what is launched or how large it is
    kHostComputed,   // bytes that the host sends
  };
  Kind kind = Kind::kDataDependent;
  std::string message;
  uint64_t site = 0;
};

struct Merged {
  Plan plan;
  std::optional<MergeProblem> problem;  // the plan is then not usable
};

Merged MergeTraces(const RawTrace& first, const RawTrace& second);

}  // namespace kernelsmith
