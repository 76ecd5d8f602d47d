// Chooses who runs a grid: the interpreter, or compiled code on all processors.
#pragma once

#include "vgpu/slice_kernel.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::vgpu {

struct LaunchState;

// Runs all blocks. A fault is in launch.fault afterwards.
void RunGrid(LaunchState& launch, LaunchResult& result);

// The kernel's slice, made when it is first asked for.
const KernelSlice& SliceOf(const Kernel& kernel, SliceStores stores);

}  // namespace kernelsmith::vgpu
