// Makes a program on which engines differ as small as it gets.
#pragma once

#include <functional>

#include "program.h"

namespace kernelsmith::fuzz {

// `differs` is asked about ever smaller programs; it must say no to those that are not valid.
Program Shrink(Program program, const std::function<bool(const Program&)>& differs);

// Instructions that are left.
int CountInstructions(const Program& program);

}  // namespace kernelsmith::fuzz
