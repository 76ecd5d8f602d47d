// Two traces of the same candidate, with other data and other addresses, become one plan. Bytes
// that differ are pointers, or nobody reads them, or the plan depends on something: on data, if the
// host code has looked at any; else on what the two children do not share, which are addresses,
// clocks and chance.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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

// The calls of two traces as one: their bytes have pointers where the traces differ.
struct MergedCalls {
  std::vector<RawTrace::Buffer> buffers;  // of the first trace
  std::vector<RawTrace::Call> calls;
  // Calls do not all launch the same kernels, and kernels have variables: what one call leaves in
  // them another may find, though no argument names them.
  bool leaves_variables = false;
  std::optional<MergeProblem> problem;  // nothing else is usable then
};

struct MergeOptions {
  // For tests alone: bytes that differ before the host has looked at data count as padding, whether
  // or not the kernel reads them.
  bool all_is_padding = false;
};

MergedCalls MergeTraces(const RawTrace& first, const RawTrace& second, const ParameterUse& use,
                        const MergeOptions& options = {});

// An input of another call than the one that a plan is about.
struct ForeignInput {
  uint32_t set = 0;
  uint32_t argument = 0;  // as PlanBuffer::argument
};

struct CallPlan {
  Plan plan;
  // For the plan these are memory like any other. The first steps of its preparation, if it has
  // one, fill them, in this order.
  std::vector<ForeignInput> foreign;
};

// The plan of one of the calls, with all calls before it as its preparation. `given` has the bytes
// of inputs of other sets than the call's own.
using GivenBytes = std::function<std::vector<std::byte>(const ForeignInput&)>;
CallPlan PlanOfCall(const MergedCalls& merged, size_t call, const GivenBytes& given = {});

}  // namespace kernelsmith
