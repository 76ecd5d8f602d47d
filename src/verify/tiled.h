// Values for a large shape without PyTorch.
#pragma once

#include "tasks/task.h"

namespace kernelsmith {

// Those of a draw at a small shape, over and over, for all arguments of `graph`. One that the small
// shape does not have (it was None there) gets those of the argument before it.
CaseTensors Tiled(const TaskGraph& graph, const CaseTensors& small);

// Every element becomes one of the first ones, chosen by a hash of its place: no two rows are
// alike, and the values of the draw are where nobody expects them.
void Shuffle(HostTensor& tensor, uint64_t seed);

// True if all of them are floats: integers of a small draw may be none that a large shape allows.
bool AllFloats(const CaseTensors& values);

}  // namespace kernelsmith
