// What the tracer (broker/main.cc) writes: one trace, with the addresses of its child. What is in
// it comes from a hostile process; nothing is taken without a check.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "support/finding_kind.h"
#include "support/result.h"

namespace kernelsmith {

struct RawFinding {
  FindingKind kind = FindingKind::kUnsupported;
  std::string message;
  uint64_t site = 0;
  bool out_of_memory = false;
};

struct RawTrace {
  struct Buffer {
    PlanBuffer buffer;
    uint64_t address = 0;
    uint32_t set = 0;  // of an input: the set of arguments that it belongs to
    size_t call = 0;   // the first call that names it, by its place in `calls`
  };
  std::vector<Buffer> buffers;
  struct Call {
    uint32_t number = 0;  // counted from 1; calls that repeat earlier ones are left out
    uint32_t set = 0;     // of its arguments
    uint32_t times = 1;   // it and those that repeat it
    // Launches and uploads still hold raw bytes; their pointers are not known yet.
    std::vector<PlanStep> steps;
    std::vector<PlanTensor> outputs;
    bool returned = false;  // the outputs are known
  };
  std::vector<Call> calls;
  uint32_t all_calls = 0;  // of a sequence, with those that are left out
  uint32_t lost = 0;       // allocations that the last `lost_in` calls left behind
  uint32_t lost_in = 0;
  std::vector<std::vector<std::byte>> data;  // of the last outputs, if the request asked for it
  std::vector<RawFinding> findings;
  std::vector<std::string> walls;  // the walls of the sandbox
  bool complete = false;           // the candidate returned from all calls
};

// An error means that it is not what an honest tracer writes.
Result<RawTrace> ParseRawTrace(std::string_view text, const PlanLimits& limits);

}  // namespace kernelsmith
