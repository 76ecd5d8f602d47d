// Accesses that are outside every allocation, misaligned, to freed memory, or writes to what is
// read-only; free in kernels. Costs nothing while accesses are good: the engine asks only about bad
// ones.
#pragma once

#include <memory>

#include "checkers/checker.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::checkers {

std::unique_ptr<Checker> MakeBoundsChecker(FindingSink& sink, vgpu::VirtualGpu& gpu);

}  // namespace kernelsmith::checkers
