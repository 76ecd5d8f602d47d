// Two traces of the same candidate, with other data and other addresses, become one plan. Bytes
// that differ are pointers, or nobody reads them, or the plan depends on something: on data, if the
// host code has looked at any; else on what the two children do not share, which are addresses,
// clocks and chance.
#pragma once

#include <optional>
#include <string>

#include "plan/parameter_use.h"
#include "plan/plan.h"
#include "plan/raw_trace.h"

namespace kernelsmith {

// Why two traces have no common plan.
struct MergeProblem {
  enum class Kind {
    kDataDependent,    // what is launched or how large it is
    kHostComputed,     // bytes that the host sends
    kNotReproducible,  // either of them, and the host had not looked at data
  };
  Kind kind = Kind::kDataDependent;
  std::string message;
  uint64_t site = 0;
};

struct Merged {
  Plan plan;
  std::optional<MergeProblem> problem;  // the plan is then not usable
};

struct MergeOptions {
  // For tests alone: bytes that differ before the host has looked at data count as padding, whether
  // or not the kernel reads them.
  bool all_is_padding = false;
};

Merged MergeTraces(const RawTrace& first, const RawTrace& second, const ParameterUse& use,
                   const MergeOptions& options = {});

}  // namespace kernelsmith
