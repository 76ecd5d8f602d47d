// What kernels leave in device memory for later calls: variables of the module, and memory that the
// first call allocated. Inside of src/verify only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "support/result.h"

namespace kernelsmith {

using StateBytes = std::vector<std::vector<std::byte>>;  // of each kept buffer

// The plan with a buffer for every variable of the module that kernels could write. `kept` gets the
// buffers whose contents a later call may find.
Result<Plan> WithKeptState(const Plan& plan, std::string_view ptx, std::vector<BufferIndex>* kept);

// The same plan, with the contents of these buffers for its results.
Plan ShowingState(Plan plan, const std::vector<BufferIndex>& kept);

// How the state changes from call to call.
struct StateChange {
  enum class Kind : uint8_t {
    kNone,     // it stays as it is
    kCounts,   // some words advance by the same amount each time, nothing else changes
    kUnknown,  // it changes otherwise
  };
  Kind kind = Kind::kNone;
  // Words that advance.
  struct Counter {
    size_t buffer = 0;  // in `kept`
    size_t offset = 0;  // bytes
    bool is_float = false;
    uint32_t start = 0;  // bits of the first state
    uint32_t step = 0;   // bits: what a call adds
  };
  std::vector<Counter> counters;
};

// `states` are those after 1, 2, 3 ... calls, at least three of them.
StateChange ChangeOf(const std::vector<StateBytes>& states);

// The state after so many calls, if it is `state` after the first one and counts.
StateBytes StateAfter(const StateBytes& state, const StateChange& change, uint64_t calls);

// Numbers of calls at which a counter is at, or next to, a constant of the device code, a power of
// two or none of these: where a kernel that looks at it may turn.
std::vector<uint64_t> TurningPoints(const StateChange& change, std::string_view ptx);

}  // namespace kernelsmith
