// Whether a block may wait for what another block does: then none of them can be left for later.
#pragma once

#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

bool BlocksMayWait(const LaunchState& launch);

}  // namespace kernelsmith::vgpu
