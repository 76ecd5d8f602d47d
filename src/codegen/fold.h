// Folds maps into the nests that read them, so that views, casts, masks and activations cost no
// kernel, and drops what nobody reads.
#pragma once

#include "codegen/family.h"
#include "codegen/program.h"
#include "codegen/schedule.h"

namespace kernelsmith::codegen {

// A gene "BUFFER.store" decides for one map whether it is stored (1) or computed again by each
// reader (0); `genes`, if given, gets those for which both make sense.
Program Fold(const Program& program, const Schedule& schedule, std::vector<Gene>* genes = nullptr);

}  // namespace kernelsmith::codegen
