// Values for a large shape without PyTorch.
#pragma once

#include "tasks/task.h"

namespace kernelsmith {

// Those of a draw at a small shape, over and over, for all arguments of `graph`. One that the small
// shape does not have (it was None there) gets those of the argument before it.
CaseTensors Tiled(const TaskGraph& graph, const CaseTensors& small);

// True if all of them are floats: integers of a small draw may be none that a large shape allows.
bool AllFloats(const CaseTensors& values);

}  // namespace kernelsmith
