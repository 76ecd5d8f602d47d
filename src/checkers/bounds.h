// Accesses that are outside every allocation, misaligned, to freed memory, or writes to what is
// read-only; free in kernels. Costs nothing while accesses are good: the engine asks only about bad
// ones.
#pragma once

#include <memory>

#include "checkers/checker.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::checkers {

std::unique_ptr<Checker> MakeBoundsChecker(FindingSink& sink, vgpu::VirtualGpu& gpu);

// Asks for exact limits and hears of nothing: an array of 63 floats in shared memory ends there,
// not at the next multiple of 16 bytes. What is beyond is a fault like any other.
std::unique_ptr<Checker> MakeExactLimits(FindingSink& sink);

}  // namespace kernelsmith::checkers
