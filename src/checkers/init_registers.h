// Undefined bits in a warp's registers: reading and setting them, and how they go through an
// instruction (undefined_bits.h) of all lanes.
#pragma once

#include <array>
#include <cstdint>

#include "vgpu/observer.h"

namespace kernelsmith::checkers {

// What the load or atomic that is being executed brings.
struct LoadedBits {
  // The widest access: eight elements of eight bytes.
  static constexpr size_t kMostBytes = 64;

  bool any = false;  // false: all is defined, and `bytes` means nothing
  std::array<std::array<uint8_t, kMostBytes>, vgpu::kWarpSize> bytes{};  // 1: undefined

  void Set(int lane, const uint8_t* defined, uint32_t count);
  uint64_t Of(int lane, uint32_t first, uint32_t count) const;
};

// Bits of a register of one lane; `part` selects the 64-bit half of a 128-bit register.
uint64_t UndefinedOf(vgpu::WarpView& warp, vgpu::Operand operand, int lane, int part = 0);
void SetUndefined(vgpu::WarpView& warp, vgpu::Operand operand, int lane, uint64_t bits,
                  int part = 0);

// After the instruction was executed by the lanes of `mask` of a tracked warp.
void PropagateUndefined(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask,
                        const LoadedBits& loaded);

}  // namespace kernelsmith::checkers
