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
  };
  std::vector<Buffer> buffers;
  // Launches and uploads still hold raw bytes; their pointers are not known yet.
  std::vector<PlanStep> preparation;
  std::vector<PlanStep> steps;
  std::vector<PlanTensor> outputs;
  std::vector<std::vector<std::byte>> data;  // the data of the outputs, if the request asked for it
  std::vector<RawFinding> findings;
  std::vector<std::string> walls;  // the walls of the sandbox
  bool complete = false;           // the candidate returned from both calls
};

// An error means that it is not what an honest tracer writes.
Result<RawTrace> ParseRawTrace(std::string_view text, const PlanLimits& limits);

}  // namespace kernelsmith
