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

// Terms of the longest sum in it.
uint64_t LongestSum(const Graph& graph);

// How far off, in roundings of the size of a result, honest kernels may be at large shapes: there
// sums have up to millions of terms, and the reference adds them up in a better order than most
// kernels do. A serial sum of n terms is off by about sqrt(n) roundings; kernels in float32 (a warp
// or a block for rows of 262,144 and four million terms) were off by 0.12 and 0.03 times that.
// Rounding to half precision is off by up to 8,000 roundings: beyond it up to sixteen million
// terms.
double LongSumRoundings(const Graph& graph);

}  // namespace kernelsmith
