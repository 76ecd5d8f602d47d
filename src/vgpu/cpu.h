// What the machine we run on has. Handlers and the screen's cells are compiled for several levels
// (CMakeLists.txt); who chooses among them asks here.
#pragma once

#include <cstdint>

#include "support/settings.h"

namespace kernelsmith::vgpu {

enum class CpuLevel : uint8_t {
  kBase,    // any x86-64, or another processor
  kAvx2,    // AVX2, FMA, F16C, BMI2, LZCNT
  kAvx512,  // these and AVX-512 F, VL, BW, DQ
};

CpuLevel DetectCpu();

// The best that the settings allow.
CpuLevel CpuFor(const EngineSettings& settings);

}  // namespace kernelsmith::vgpu
