// Vector registers that an instruction names as a whole: `.reg .v4 .f32 t; ld.global.v4.f32 t,
// [p];`.
#pragma once

#include <optional>

#include "ptx/syntax.h"

namespace kernelsmith::ptx {

// How many elements the register has that an operand names, with or without a selector; 1 for
// scalars and for whatever is no register.
int RegisterWidth(const Function& function, const Operand& operand);

// Which element .x .y .z .w choose; -1 for the other selectors.
int ElementOf(Selector selector);

// The instruction with every whole vector as the vector of its elements, {t.x, t.y, t.z, t.w}; such
// an operand keeps its name, which a vector in braces has not. The same is done to %tid and its
// like in vector moves. Nothing if there is none, which is the rule. Whoever looks at operands goes
// through here first, so that there is one form of vectors behind it; the tree itself stays as it
// was written.
std::optional<Instruction> ExpandWholeVectors(const Function& function,
                                              const Instruction& instruction);

}  // namespace kernelsmith::ptx
