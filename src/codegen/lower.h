// Graph to loop nests: every operator becomes nests whose bodies are scalar expressions. Views,
// slices, padding and concatenation are maps that only compute indices; later steps fold them away.
#pragma once

#include <string>
#include <vector>

#include "codegen/family.h"
#include "codegen/program.h"
#include "support/result.h"

namespace kernelsmith::codegen {

struct LowerOptions {
  // Names of the graph's outputs (Graph::OutputName) in the order the function returns them.
  std::vector<std::string> results;
};

// `unsupported`, naming the operator, where there is no rule for it. The family learns sizes on the
// way.
Result<Program> Lower(Family& family, const LowerOptions& options);

// Whether an operator has a rule, which is what its row in graph/aten_ops.def says.
bool HasRule(AtenOp op);

}  // namespace kernelsmith::codegen
