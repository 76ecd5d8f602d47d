// Chooses who runs a grid: the interpreter, or compiled code on all processors.
#pragma once

#include <optional>
#include <string_view>

#include "support/result.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::vgpu {

struct LaunchState;

// "auto", "jit", "interpreter".
std::optional<Engine> EngineByName(std::string_view name);

// KERNELSMITH_ENGINE (a name of an engine), KERNELSMITH_PARALLEL_ATOMICS=1, KERNELSMITH_THREADS: so
// that programs which load our runtime library have the choice as well.
Status ApplyEnvironment(VirtualGpu::Options& options);

// Runs all blocks. A fault is in launch.fault afterwards.
void RunGrid(LaunchState& launch, LaunchResult& result);

}  // namespace kernelsmith::vgpu
