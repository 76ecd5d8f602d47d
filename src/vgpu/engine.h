// Chooses who runs a grid: the interpreter, or compiled code on all processors.
#pragma once

#include "vgpu/vgpu.h"

namespace kernelsmith::vgpu {

struct LaunchState;

// Runs all blocks. A fault is in launch.fault afterwards.
void RunGrid(LaunchState& launch, LaunchResult& result);

}  // namespace kernelsmith::vgpu
