// How much work a task is at one shape. Stages that can't look at everything choose by it: unlike
// the time or the instructions of a run, of which compiled code counts none, it is the same on
// every machine.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace kernelsmith {

// Multiplications and additions of products and convolutions, and for every other operator the
// elements it reads and writes.
uint64_t GraphWork(const Graph& graph);

// Terms of the longest sum in it. A serial sum of n terms is off by about sqrt(n) roundings.
uint64_t LongestSum(const Graph& graph);

}  // namespace kernelsmith
