#include "vgpu/cpu.h"

namespace kernelsmith::vgpu {

CpuLevel DetectCpu() {
#if defined(__x86_64__)
  static const CpuLevel level = [] {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("f16c") || !__builtin_cpu_supports("bmi2") ||
        !__builtin_cpu_supports("lzcnt")) {
      return CpuLevel::kBase;
    }
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    return avx512 ? CpuLevel::kAvx512 : CpuLevel::kAvx2;
  }();
  return level;
#else
  return CpuLevel::kBase;
#endif
}

CpuLevel CpuFor(const EngineSettings& settings) {
  return settings.base_isa ? CpuLevel::kBase : DetectCpu();
}

}  // namespace kernelsmith::vgpu
