// Long reductions with few results in two steps: parts, then the parts together. One block a row
// would leave most of a GPU idle where a tensor is summed up as a whole.
#pragma once

#include <vector>

#include "codegen/family.h"
#include "codegen/program.h"
#include "codegen/schedule.h"

namespace kernelsmith::codegen {

// A gene "BUFFER.chunk": how many steps of the outermost reduced axis are one part; 0 is one step
// for all.
Program SplitReductions(Program program, const Family& family, const Schedule& schedule,
                        std::vector<Gene>* genes = nullptr);

}  // namespace kernelsmith::codegen
