// The handlers of all IR instructions. Private to src/vgpu.
//
// The files of this folder are compiled for several instruction sets of the host (see types.h of
// math/); FindHandler chooses by what the processor has.
#pragma once

#include "vgpu/cpu.h"
#include "vgpu/ir.h"
#include "vgpu/jit/abi.h"
#include "vgpu/math/types.h"

namespace kernelsmith::vgpu {

// Null: the engine does not know this combination of operation, types and modifiers.
Handler FindHandler(const Instruction& instruction, CpuLevel cpu);

#define KS_VGPU_HANDLER_FAMILIES                              \
  Handler FindIntegerHandler(const Instruction& instruction); \
  Handler FindBitHandler(const Instruction& instruction);     \
  Handler FindFloatHandler(const Instruction& instruction);   \
  Handler FindHalfHandler(const Instruction& instruction);    \
  Handler FindApproxHandler(const Instruction& instruction);  \
  Handler FindCompareHandler(const Instruction& instruction); \
  Handler FindConvertHandler(const Instruction& instruction); \
  Handler FindMoveHandler(const Instruction& instruction);    \
  Handler FindMemoryHandler(const Instruction& instruction);

namespace isa_base {
KS_VGPU_HANDLER_FAMILIES
}
#if defined(__x86_64__)
namespace isa_avx2 {
KS_VGPU_HANDLER_FAMILIES
}
#endif
#undef KS_VGPU_HANDLER_FAMILIES

// Compiled once: nothing to gain from vectors.
Handler FindAtomicHandler(const Instruction& instruction);
AtomicKernel FindAtomicKernel(const Instruction& instruction, bool tells);
Handler FindWarpHandler(const Instruction& instruction);
Handler FindMatrixHandler(const Instruction& instruction);
Handler FindMbarrierHandler(const Instruction& instruction);
Handler FindBulkHandler(const Instruction& instruction);
Handler FindClusterHandler(const Instruction& instruction);
Handler FindTextureHandler(const Instruction& instruction);
Handler FindWgmmaHandler(const Instruction& instruction);
// Of Op::kMark and kMarkFragment, which only slices have.
Handler FindMarkHandler(const Instruction& instruction);
Handler FindVideoHandler(const Instruction& instruction);
Handler FindMathCallHandler(const Instruction& instruction);

}  // namespace kernelsmith::vgpu
