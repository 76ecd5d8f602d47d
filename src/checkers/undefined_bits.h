// How undefined bits go through an instruction: pure functions of values and shadows (1:
// undefined).
#pragma once

#include <cstdint>

#include "vgpu/observer.h"

namespace kernelsmith::checkers {

// One operand of one lane.
struct Shadowed {
  uint64_t value = 0;
  uint64_t undefined = 0;
};

// All bits from the lowest undefined one up: what a carry may reach.
inline uint64_t SmearUp(uint64_t undefined) {
  return undefined == 0 ? 0 : ~(undefined - 1) | undefined;
}

// The undefined bits of the result of `in` for one lane, whose result has `bits` bits. For
// instructions whose result depends on the lane's own operands only; what is not known in detail is
// undefined as a whole if any operand bit is.
uint64_t UndefinedResult(const vgpu::Instruction& in, const Shadowed& a, const Shadowed& b,
                         const Shadowed& c, const Shadowed& e, int bits);

// The lane that lane `lane` of a shuffle reads from.
int ShuffleSource(vgpu::ShuffleMode mode, int lane, uint32_t b, uint32_t c);

// Does the code go on with the shuffle's result whatever it is? False where the next use is behind
// a condition: `if (lane + d < n) x += y`.
bool UsesAtOnce(const vgpu::Function& function, const vgpu::Instruction& shuffle);

}  // namespace kernelsmith::checkers
