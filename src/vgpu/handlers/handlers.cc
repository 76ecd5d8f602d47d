#include "vgpu/handlers/handlers.h"

namespace kernelsmith::vgpu {

namespace {

using Finder = Handler (*)(const Instruction&);

constexpr Finder kBase[] = {
    isa_base::FindIntegerHandler, isa_base::FindBitHandler,    isa_base::FindFloatHandler,
    isa_base::FindHalfHandler,    isa_base::FindApproxHandler, isa_base::FindCompareHandler,
    isa_base::FindConvertHandler, isa_base::FindMoveHandler,   isa_base::FindMemoryHandler,
};

#if defined(__x86_64__)
constexpr Finder kAvx2[] = {
    isa_avx2::FindIntegerHandler, isa_avx2::FindBitHandler,    isa_avx2::FindFloatHandler,
    isa_avx2::FindHalfHandler,    isa_avx2::FindApproxHandler, isa_avx2::FindCompareHandler,
    isa_avx2::FindConvertHandler, isa_avx2::FindMoveHandler,   isa_avx2::FindMemoryHandler,
};
#endif

constexpr Finder kCommon[] = {FindAtomicHandler,   FindWarpHandler,    FindMatrixHandler,
                              FindMbarrierHandler, FindBulkHandler,    FindClusterHandler,
                              FindWgmmaHandler,    FindTextureHandler, FindVideoHandler,
                              FindMathCallHandler};

template <size_t kCount>
Handler FindIn(const Finder (&finders)[kCount], const Instruction& instruction) {
  for (const Finder find : finders) {
    if (const Handler handler = find(instruction)) return handler;
  }
  return nullptr;
}

}  // namespace

Handler FindHandler(const Instruction& instruction, CpuLevel cpu) {
  if (const Handler handler = FindIn(kCommon, instruction)) return handler;
#if defined(__x86_64__)
  if (cpu >= CpuLevel::kAvx2) return FindIn(kAvx2, instruction);
#endif
  return FindIn(kBase, instruction);
}

}  // namespace kernelsmith::vgpu
